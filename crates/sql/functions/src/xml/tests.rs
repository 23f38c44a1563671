use super::{document, xpath};
use crate::testing::{Evaluator, check};

#[test]
fn paths() {
    check(&[
        ("EXTRACTVALUE('<a>1<b>2</b>3</a>', '/a')", "1 3"),
        ("EXTRACTVALUE('<a>1<b>2</b>3</a>', '//*')", "1 2 3"),
        ("EXTRACTVALUE('<a>1<b x=\"y\">2</b>3</a>', '/a/b/@x')", "y"),
        ("EXTRACTVALUE('<a><b>1</b><b>2</b></a>', '/a/b[2]')", "2"),
        ("EXTRACTVALUE('<a><b>1</b><b>2</b></a>', '/a/b[last()]')", "2"),
        ("EXTRACTVALUE('<a><b>1</b><b>2</b></a>', '/a/b[. > 1]')", "2"),
        ("EXTRACTVALUE('<a><b>1</b><b>2</b></a>', 'count(//b)')", "2"),
        ("EXTRACTVALUE('<a><b>1</b><c>2</c></a>', '//b | //c')", "1 2"),
        ("EXTRACTVALUE('<a><b>1</b></a>', '/a/b/text()')", "1"),
        ("EXTRACTVALUE('<a>Jack</a>', '/a[contains(../a, \"J\")]')", "Jack"),
        ("EXTRACTVALUE('<a><b>1</b></a>', '/a/b/../../a/b')", "1"),
        ("EXTRACTVALUE('<a><b>1</b></a>', '/a/parent::*/a/b')", "1"),
        ("EXTRACTVALUE('<a><b>1</b></a>', '/a/parent::a')", ""),
        ("EXTRACTVALUE('<a><b>1</b></a>', 'count(/a/b/ancestor::*)')", "1"),
        ("EXTRACTVALUE('<a><b>1</b></a>', '/a/c')", ""),
        ("EXTRACTVALUE('<a><![CDATA[<x>]]></a>', '/a')", "<x>"),
        ("EXTRACTVALUE('<a>B</a>', '/a[contains(., \"b\")]')", "B"),
        ("EXTRACTVALUE('<a>x</a>', '3 div 2')", "1.5"),
        ("EXTRACTVALUE('<a>x', '/a')", "NULL !1525"),
        ("EXTRACTVALUE(NULL, '/a')", "NULL"),
        ("EXTRACTVALUE('', '/a b')", "ERROR 1105"),
        ("EXTRACTVALUE('', 'position()')", "ERROR 1105"),
        ("EXTRACTVALUE('', '/a[@x=@y]')", "ERROR 1105"),
        ("EXTRACTVALUE('', '/a[@x=$y]')", "ERROR 1105"),
        ("UPDATEXML('<a><b>1</b></a>', '/a/b', '<c/>')", "<a><c/></a>"),
        ("UPDATEXML('<a><b>1</b><b/></a>', '/a/b', '<c/>')", "<a><b>1</b><b/></a>"),
        ("UPDATEXML('<a x=\"1\" y=\"2\"/>', '/a/@x', 'z=\"3\"')", "<a z=\"3\" y=\"2\"/>"),
        ("UPDATEXML('<a/>', '/', 'all')", "all"),
        ("UPDATEXML('<a/>', '1', 'all')", "NULL"),
    ]);
}

#[test]
fn errors_show_the_rest() {
    let error = |sql: &str| Evaluator::default().text(sql).err().map(|e| e.message().to_owned()).unwrap();
    assert_eq!(error("EXTRACTVALUE('', '/e/')"), "XPATH syntax error: ''");
    assert_eq!(error("EXTRACTVALUE('', '//b!')"), "XPATH syntax error: '!'");
    assert_eq!(error("EXTRACTVALUE('', '/<a>')"), "XPATH error: comparison of two nodesets is not supported: '<a>'");
    let deep = format!("EXTRACTVALUE('', '{}1')", "(".repeat(500));
    assert!(error(&deep).starts_with("XPATH expression is nested too deeply"));
}

/// Any bytes are read without a panic; the nodes of what parses lie within the source and within each other.
#[test]
fn any_bytes() {
    const PIECES: &[&[u8]] = &[
        b"<",
        b">",
        b"/",
        b"</",
        b"/>",
        b"a",
        b"bb",
        b"=",
        b"'",
        b"\"",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"?",
        b"!",
        b" ",
        b"\n",
        b"\xC3\xA9",
        b"\xFF",
        b"[",
        b"]",
        b"(",
        b")",
        b"1",
        b".",
        b"..",
        b"//",
        b"@",
        b"*",
        b"|",
        b"and",
        b"count(",
        b"self::",
        b"$@x",
        b",",
        b"-",
        b"<=",
        b"position()",
        b"text()",
    ];
    let mut state = 7u64;
    for _ in 0..20_000 {
        let mut text = Vec::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.extend_from_slice(PIECES[(state >> 33) as usize % PIECES.len()]);
        }
        let _ = xpath::parse(&text);
        let Ok(document) = document::parse(text) else { continue };
        for id in 0..document.nodes.len() as u32 {
            let node = &document.nodes[id as usize];
            let outer = &document.nodes[node.parent as usize];
            assert!(id == 0 || (node.parent < id && node.next <= outer.next && id < node.next));
            let (start, end) = document.range(id);
            assert!(start <= end && end <= document.source.len());
        }
    }
}
