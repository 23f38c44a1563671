<?php
// search.php TEXT HITS: fails unless MediaWiki's search of the text gives so many pages. MW_INSTALL_PATH is where the wiki is.
require_once getenv('MW_INSTALL_PATH') . '/maintenance/Maintenance.php';

class SearchHits extends Maintenance {
	public function __construct() {
		parent::__construct();
		$this->addArg('text', 'what is looked for');
		$this->addArg('hits', 'how many pages have it');
	}

	public function execute() {
		$engine = MediaWiki\MediaWikiServices::getInstance()->getSearchEngineFactory()->create();
		$engine->setLimitOffset(100);
		$found = $engine->searchText($this->getArg(0));
		$found = $found instanceof Status ? $found->getValue() : $found;
		if ($found->numRows() !== (int)$this->getArg(1)) {
			$this->fatalError("Fatal error: {$found->numRows()} pages");
		}
	}
}

$maintClass = SearchHits::class;
require_once RUN_MAINTENANCE_IF_MAIN;
