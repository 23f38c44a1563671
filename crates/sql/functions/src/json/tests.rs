use crate::testing::check;

#[test]
fn making_and_asking() {
    check(&[
        ("JSON_ARRAY(1, 'a', NULL, 1.5, DATE'2024-01-02')", r#"[1, "a", null, 1.5, "2024-01-02"]"#),
        ("JSON_OBJECT('bb', 1, 'a', JSON_ARRAY())", r#"{"a": [], "bb": 1}"#),
        ("JSON_OBJECT(NULL, 1)", "ERROR 3158"),
        ("JSON_OBJECT('a')", "ERROR 1582"),
        ("JSON_QUOTE('a\"b')", r#""a\"b""#),
        ("JSON_UNQUOTE('\"a\\\\tb\"')", "a\tb"),
        ("JSON_UNQUOTE('abc')", "abc"),
        ("JSON_VALID('{}')", "1"),
        ("JSON_VALID('{')", "0"),
        ("JSON_VALID(1)", "0"),
        ("JSON_TYPE('[1]')", "ARRAY"),
        ("JSON_TYPE(JSON_EXTRACT(JSON_ARRAY(1.5), '$[0]'))", "DECIMAL"),
        ("JSON_TYPE(JSON_EXTRACT(JSON_ARRAY(TIME'10:00:00'), '$[0]'))", "TIME"),
        ("JSON_TYPE('a')", "ERROR 3141"),
        ("JSON_TYPE(1)", "ERROR 3146"),
        ("JSON_TYPE(BINARY '1')", "ERROR 3144"),
        ("JSON_DEPTH('[[1], {}]')", "3"),
        ("JSON_LENGTH('{\"a\": [1, 2]}', '$.a')", "2"),
        ("JSON_LENGTH('{}', '$.a')", "NULL"),
        ("JSON_LENGTH('{}', '$.*')", "ERROR 3149"),
        ("JSON_KEYS('{\"b\": 1, \"a\": 2}')", r#"["a", "b"]"#),
        ("JSON_EXTRACT('{\"a\": [1, {\"b\": 2}]}', '$.a[1].b')", "2"),
        ("JSON_EXTRACT('[1, 2]', '$[0]', '$[5]')", "[1]"),
        ("JSON_EXTRACT('[1, 2]', '$[*]')", "[1, 2]"),
        ("JSON_EXTRACT('[1]', '$[5]')", "NULL"),
        ("JSON_EXTRACT('[1]', '$[')", "ERROR 3143"),
        ("JSON_CONTAINS('[1, [2]]', '[[2]]')", "1"),
        ("JSON_CONTAINS('{\"a\": 1}', '1', '$.a')", "1"),
        ("JSON_CONTAINS_PATH('{\"a\": 1}', 'all', '$.a', '$.b')", "0"),
        ("JSON_CONTAINS_PATH('{\"a\": 1}', 'one', '$.a', '$.b')", "1"),
        ("JSON_CONTAINS_PATH('{}', 'two', '$.a')", "ERROR 3154"),
        ("JSON_OVERLAPS('[1, 2]', '[2, 3]')", "1"),
        ("JSON_PRETTY('{\"a\": [1], \"b\": []}')", "{\n  \"a\": [\n    1\n  ],\n  \"b\": []\n}"),
        ("JSON_STORAGE_SIZE('[]')", "5"),
    ]);
}

#[test]
fn changing_and_merging() {
    check(&[
        ("JSON_SET('{\"a\": 1}', '$.a', 2, '$.b', 3)", r#"{"a": 2, "b": 3}"#),
        ("JSON_SET('1', '$[1]', 2)", "[1, 2]"),
        ("JSON_SET('[1]', '$[last-5]', 0)", "[0, 1]"),
        ("JSON_INSERT('{\"a\": 1}', '$.a', 2, '$.b', 3)", r#"{"a": 1, "b": 3}"#),
        ("JSON_REPLACE('{\"a\": 1}', '$.a', 2, '$.b', 3)", r#"{"a": 2}"#),
        ("JSON_SET('{}', '$.*', 1)", "ERROR 3149"),
        ("JSON_SET(NULL, '$.a', 1)", "NULL"),
        ("JSON_ARRAY_APPEND('[1, [2]]', '$[0]', 3, '$[1]', 4)", "[[1, 3], [2, 4]]"),
        ("JSON_ARRAY_INSERT('[1, 2]', '$[1]', 'x', '$[9]', 'y')", r#"[1, "x", 2, "y"]"#),
        ("JSON_ARRAY_INSERT('[1, 2]', '$.a', 'x')", "ERROR 3165"),
        ("JSON_REMOVE('[1, {\"a\": 1, \"b\": 2}]', '$[1].a', '$[0]')", r#"[{"b": 2}]"#),
        ("JSON_REMOVE('[1]', '$')", "ERROR 3153"),
        ("JSON_MERGE_PRESERVE('{\"a\": 1}', '{\"a\": [2]}', '[3]')", r#"[{"a": [1, 2]}, 3]"#),
        ("JSON_MERGE_PATCH('{\"a\": 1, \"b\": 2}', '{\"a\": null}')", r#"{"b": 2}"#),
        ("JSON_MERGE_PATCH('{}', NULL, '[1]')", "[1]"),
        ("JSON_MERGE('[1]', '2')", "[1, 2] !1287"),
    ]);
}

#[test]
fn searching() {
    let doc = r#"'["abc", [{"k": "10"}, "def"], {"x y": "abc"}, {"y": "bcd"}]'"#;
    for (rest, expected) in [
        ("'one', 'abc'", r#""$[0]""#),
        ("'all', 'abc'", r#"["$[0]", "$[2].\"x y\""]"#),
        ("'all', 'ghi'", "NULL"),
        ("'all', '10', NULL, '$[*][0].k'", r#""$[1][0].k""#),
        ("'all', '%b%', NULL, '$[3]'", r#""$[3].y""#),
        ("'all', '%b%', '', '$**.y'", r#""$[3].y""#),
        ("'all', 'a', 'xx'", "ERROR 1210"),
    ] {
        check(&[(&format!("JSON_SEARCH({doc}, {rest})"), expected)]);
    }
}

#[test]
fn schemas() {
    let failed = |keyword: &str, at: &str| {
        format!(
            "{{\"valid\": false, \"reason\": \"The JSON document location '{at}' failed requirement '{keyword}' at JSON \
             Schema location '{}'\", \"schema-location\": \"{}\", \"document-location\": \"{at}\", \
             \"schema-failed-keyword\": \"{keyword}\"}}",
            at.replace("#/", "#/properties/"),
            at.replace("#/", "#/properties/"),
        )
    };
    check(&[
        ("JSON_SCHEMA_VALID('{\"type\": \"object\"}', '{}')", "1"),
        ("JSON_SCHEMA_VALID('{\"required\": [\"a\"]}', '{}')", "0"),
        ("JSON_SCHEMA_VALID('[]', '{}')", "ERROR 3853"),
        ("JSON_SCHEMA_VALID('{\"$ref\": \"http://x\"}', '{}')", "ERROR 1235"),
        ("JSON_SCHEMA_VALID('{\"$ref\": \"#\"}', '{}')", "ERROR 3157"),
        ("JSON_SCHEMA_VALID('{\"items\": {\"minimum\": 3}}', '[3, 4]')", "1"),
        ("JSON_SCHEMA_VALID('{\"oneOf\": [{\"type\": \"string\"}, {\"minimum\": 3}]}', '2')", "0"),
        (
            "JSON_SCHEMA_VALIDATION_REPORT('{\"properties\": {\"a\": {\"minimum\": 2}}}', '{\"a\": 1}')",
            &failed("minimum", "#/a"),
        ),
        ("JSON_SCHEMA_VALIDATION_REPORT('{}', '1')", r#"{"valid": true}"#),
    ]);
}
