# What Redmine, a Rails application, asks of its database; for `rails runner`. ActiveRecord's schema statements come last.
def check(name, got, wanted = true)
  puts got == wanted ? "ok #{name}" : "not ok #{name}: #{got.inspect} for #{wanted.inspect}"
rescue StandardError => e
  puts "not ok #{name}: #{e.message}"
end

user = User.active.first
User.current = user
3.times do |i|
  project = Project.new(name: "P#{i} é😀", identifier: "p#{i}-x", is_public: true)
  project.trackers = Tracker.all.to_a
  project.enabled_module_names = %w[issue_tracking time_tracking]
  project.save!
  7.times do |j|
    Issue.create!(project: project, tracker: Tracker.first, author: user, subject: "I #{j} word#{j % 3}", priority: IssuePriority.first,
                  status: IssueStatus.first, start_date: Date.today - j, estimated_hours: j * 1.5)
  end
end
check 'counts', [Issue.count, Issue.group(:project_id).count.size, Issue.where('subject LIKE ?', '%word1%').count], [21, 3, 6]
found = Issue.joins(:project, :status).includes(:author).where(projects: { identifier: 'p1-x' }).order(start_date: :desc).limit(2)
check 'joins', found.map(&:subject), ['I 0 word0', 'I 1 word1']
issue = Issue.first
other = Issue.find(issue.id)
issue.update!(subject: 'x')
stale = begin
  other.update!(subject: 'y')
rescue ActiveRecord::StaleObjectError
  'stale'
end
check 'optimistic locks', stale, 'stale'
Issue.transaction do
  Issue.lock.find(issue.id).update!(subject: 'z')
  raise ActiveRecord::Rollback
end
check 'row locks and rollback', issue.reload.subject, 'x'
check 'savepoints', Issue.transaction { Issue.transaction(requires_new: true) { issue.update!(subject: 'no'); raise ActiveRecord::Rollback }; issue.reload.subject }, 'x'
child = Issue.create!(project: issue.project, tracker: issue.tracker, author: user, subject: 'child', priority: IssuePriority.first,
                      status: IssueStatus.first, parent_issue_id: issue.id)
check 'nested sets', [child.root_id, issue.reload.descendants.count], [issue.id, 1]
check 'aggregates', [Issue.sum(:estimated_hours), Issue.maximum(:start_date), IssueQuery.new(name: '_').issue_count], [94.5, Date.today, 22]
check 'batches', [Issue.in_batches(of: 5).count, Issue.pluck(:id).size, Issue.exists?(subject: 'child')], [5, 22, true]

c = ActiveRecord::Base.connection
check 'the schema read back', [c.primary_key('issues'), c.indexes('issues').size, c.columns('issues').first(2).map { |x| [x.name, x.type] }],
      ['id', 11, [['id', :integer], ['tracker_id', :integer]]]
c.create_table(:suite_things, force: true) do |t|
  t.string :a, limit: 50, null: false, default: 'd'
  t.text :b
  t.decimal :c, precision: 10, scale: 3
  t.binary :f
  t.timestamps
  t.index %i[a c], unique: true
end
c.add_column :suite_things, :h, :integer, default: 3
c.rename_column :suite_things, :h, :hh
c.change_column :suite_things, :a, :string, limit: 99
c.add_index :suite_things, :b, length: 10
c.change_column_default :suite_things, :hh, 7
c.change_column_null :suite_things, :hh, false, 1
c.add_reference :suite_things, :project, type: :integer, foreign_key: true
c.add_check_constraint :suite_things, 'hh > 0', name: 'ck'
check 'check constraints', c.check_constraints('suite_things').map(&:name), ['ck']
check 'foreign keys', c.foreign_keys('suite_things').map { |k| [k.to_table, k.column] }, [%w[projects project_id]]
class Thing < ActiveRecord::Base
  self.table_name = 'suite_things'
end
now = Time.now
Thing.insert_all([{ a: '1', c: 1.5, created_at: now, updated_at: now }, { a: '2', c: 2, created_at: now, updated_at: now }])
Thing.upsert_all([{ a: '1', c: 1.5, b: 'up', created_at: now, updated_at: now }])
check 'many rows at once', Thing.order(:id).map { |t| [t.a, t.b, t.c.to_s, t.hh] }, [['1', 'up', '1.5', 7], ['2', nil, '2.0', 7]]
c.drop_table :suite_things
dump = StringIO.new
ActiveRecord::SchemaDumper.dump(c, dump)
check 'schema dump', [dump.string.scan('create_table').size, dump.string.include?('Could not dump')], [52, false]
puts 'done'
