use super::*;

fn read(text: &str) -> Json {
    parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn shown(json: &Json) -> String {
    String::from_utf8(json.to_bytes()).unwrap()
}

#[test]
fn texts_are_normalised() {
    for (text, expected) in [
        (" null ", "null"),
        (
            "[ 1 , 2.50, 1e2, 1e300, 18446744073709551615, 18446744073709551616, -9223372036854775809 ]",
            "[1, 2.5, 100.0, 1e300, 18446744073709551615, 1.8446744073709552e19, -9.223372036854776e18]",
        ),
        (r#"{"bb":1,"a":2,"c":3,"a":4}"#, r#"{"a": 4, "c": 3, "bb": 1}"#),
        (r#""aéA\/\n\u0001\"\\""#, "\"aéA/\\n\\u0001\\\"\\\\\""),
        (r#""\ud83d\ude00""#, "\"😀\""),
    ] {
        assert_eq!(shown(&read(text)), expected);
    }
}

#[test]
fn errors_have_positions() {
    for (text, message, at) in [
        ("", "The document is empty.", 0),
        ("  ", "The document is empty.", 2),
        ("abc", "Invalid value.", 0),
        ("{ \"a\": tru }", "Invalid value.", 10),
        ("[", "Invalid value.", 1),
        ("[1", "Missing a comma or ']' after an array element.", 2),
        ("{1", "Missing a name for object member.", 1),
        ("{\"a\"}", "Missing a colon after a name of object member.", 4),
        ("{\"a\":1", "Missing a comma or '}' after an object member.", 6),
        ("\"a", "Missing a closing quotation mark in string.", 2),
        ("\"\\x\"", "Invalid escape character in string.", 1),
        ("\"\\u12\"", "Incorrect hex digit after \\u escape in string.", 1),
        ("\"\\ud800\"", "The surrogate pair in string is invalid.", 1),
        ("1 2", "The document root must not be followed by other values.", 2),
        ("1.", "Miss fraction part in number.", 2),
        ("1e", "Miss exponent in number.", 2),
        ("1e309", "Number too big to be stored in double.", 0),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(ParseError::Invalid(message, at)), "{text}");
    }
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(nested(100).as_bytes()).is_ok());
    assert_eq!(parse(nested(101).as_bytes()), Err(ParseError::TooDeep));
}

#[test]
fn stored_forms_come_back_and_damage_is_found() {
    let json = Json::Array(vec![
        read(r#"{"a": [1, -1, 18446744073709551615, 1.5, null, true, false, "x", {}], "": []}"#),
        Json::Decimal(Decimal::parse(b"-123.450").value),
        Json::Decimal(Decimal::parse(b"0.05").value),
        Json::Date(Date::new(2024, 2, 29)),
        Json::Time(Time::new(true, 1, 2, 3, 4)),
        Json::DateTime(DateTime::new(2024, 2, 29, 1, 2, 3, 4)),
        Json::Timestamp(DateTime::new(2024, 2, 29, 1, 2, 3, 4)),
        Json::Opaque(252, b"abc"[..].into()),
    ]);
    let stored = json.to_text(Room::FREE).unwrap();
    assert_eq!(Json::decode(&stored, Room::FREE).unwrap(), json);
    // No prefix is a document, and no changed byte a panic.
    for n in 0..stored.len() {
        assert_eq!(Json::decode(&stored[..n], Room::FREE).unwrap_err().number(), 3142);
        for change in [1, 0x80, 0xFF] {
            let mut damaged = stored.to_vec();
            damaged[n] ^= change;
            let _ = Json::decode(&damaged, Room::FREE);
        }
    }
    assert_eq!(shown(&json.clone()).matches("base64:type252:YWJj").count(), 1);
}

#[test]
fn paths() {
    let doc = read(r#"{"a": [1, [2, 3], {"b": 4, "c d": 5}], "b": 6}"#);
    for (path, expected) in [
        ("$", r#"{"a": [1, [2, 3], {"b": 4, "c d": 5}], "b": 6}"#),
        ("$.a[1][last]", "3"),
        ("$.a[last-1][0]", "2"),
        ("$.a[0][0]", "1"),
        ("$.a[2].\"c d\"", "5"),
        ("$ . a [ 1 to last ] . b", "4"),
        ("$.a[5]", ""),
        ("$**.b", "6|4"),
        ("$.*", "[1, [2, 3], {\"b\": 4, \"c d\": 5}]|6"),
        ("$.a[1][*]", "2|3"),
        ("$.b[0]", "6"),
        ("$.b[*]", ""),
        ("$.b[last]", "6"),
    ] {
        let parsed = Path::parse(path).unwrap_or_else(|e| panic!("{path}: {e:?}"));
        let found: Vec<String> = parsed.find(&doc, Room::FREE).unwrap().into_iter().map(shown).collect();
        assert_eq!(found.join("|"), expected, "{path}");
    }
    for (path, at) in [
        ("a", 1),
        ("c$", 1),
        ("$[", 2),
        ("$a", 1),
        ("$.foo[bar]", 6),
        ("$[1", 3),
        ("$.b[ 1 ].", 9),
        ("$.", 2),
        ("$**", 3),
        ("$[2 to 1]", 8),
        ("$.a[1 to", 7),
        ("$[1 TO 2]", 5),
        ("$[1to 2]", 4),
        ("$.x.\"ab", 7),
        ("$.\"a\\x\".b", 7),
        ("$.a-b.c", 5),
        ("$.é.1x", 7),
    ] {
        assert_eq!(Path::parse(path), Err(PathError::Invalid(at)), "{path}");
    }
}

#[test]
fn a_path_of_ellipses_takes_linear_time() {
    let doc = read(&format!("{}1{}", "[".repeat(100), "]".repeat(100)));
    let path = Path::parse(&format!("${}", "**[0]".repeat(30))).unwrap();
    // Each of 30 steps goes one level down at least, and a cell of the scalar is the scalar.
    assert_eq!(path.find(&doc, Room::FREE).unwrap().len(), 71);
    let wide = Json::Array((0..100_000).map(Json::Int).collect());
    assert_eq!(Path::parse("$[*]").unwrap().find(&wide, Room::FREE).unwrap().len(), 100_000);
    assert_eq!(Path::parse("$**[*]").unwrap().find(&wide, Room::FREE).unwrap().len(), 100_000);
}

#[test]
fn values_order_by_kind_then_value_and_keys_agree() {
    let ordered = [
        "null",
        "-1.5",
        "0",
        "1",
        "1.5",
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "1e300",
        "\"\"",
        "\"a\"",
        "\"b\"",
        "{}",
        "{\"a\": 1}",
        "{\"a\": 2}",
        "{\"b\": 1}",
        "[]",
        "[1]",
        "[1, 1]",
        "[2]",
        "false",
        "true",
    ];
    let values: Vec<Json> = ordered.iter().map(|t| read(t)).collect();
    let key = |j: &Json| {
        let mut out = Vec::new();
        sort_key(j, &mut out);
        out
    };
    for pair in values.windows(2) {
        assert!(compare(&pair[0], &pair[1]).is_lt(), "{pair:?}");
        assert!(key(&pair[0]) < key(&pair[1]), "{pair:?}");
    }
    assert!(compare(&read("1"), &read("1.0")).is_eq());
    assert_eq!(key(&read("1")), key(&read("1.0")));
}

#[test]
fn documents_merge_and_contain() {
    let (a, b) = (read(r#"{"a": 1, "b": [1]}"#), read(r#"{"a": 2, "b": 3, "c": null}"#));
    assert_eq!(shown(&merge_preserve(a.clone(), b.clone())), r#"{"a": [1, 2], "b": [1, 3], "c": null}"#);
    assert_eq!(shown(&merge_patch(a.clone(), b)), r#"{"a": 2, "b": 3}"#);
    assert!(contains(&a, &read(r#"{"b": 1}"#)) && !contains(&a, &read("1")));
    assert!(overlaps(&a, &read(r#"{"a": 1, "x": 2}"#)) && !overlaps(&a, &read("[1]")));
}

#[test]
fn long_arrays_and_objects_are_compared_in_time() {
    let array = |range: std::ops::Range<i32>| {
        let items: Vec<String> = range.map(|i| i.to_string()).collect();
        read(&format!("[{}, [7, \"x\"], {{\"k\": 1}}]", items.join(", ")))
    };
    let (all, some) = (array(0..200_000), array(100_000..200_000));
    assert!(contains(&all, &some) && !contains(&some, &all));
    assert!(overlaps(&all, &some));
    assert!(!overlaps(
        &all,
        &read(&format!("[{}]", (1..100_000).map(|i| format!("-{i}.5")).collect::<Vec<_>>().join(",")))
    ));
    assert!(contains(&all, &read("1e0")) && contains(&all, &read("[\"x\", 1.0]")));
    let object = |from: i32| {
        let members: Vec<String> = (from..from + 300_000).map(|i| format!("\"{i}\": {i}")).collect();
        read(&format!("{{{}, \"gone\": null}}", members.join(", ")))
    };
    let Json::Object(patched) = merge_patch(object(0), object(150_000)) else { panic!() };
    assert_eq!((patched.len(), patched.get("gone")), (450_000, None));
    let Json::Object(kept) = merge_preserve(object(0), object(150_000)) else { panic!() };
    assert_eq!((kept.len(), kept.get("150000")), (450_001, Some(&read("[150000, 150000]"))));
}

#[test]
fn sizes_are_those_of_mysqls_form() {
    for (text, size) in
        [("100", 3), ("10000000", 5), ("1.5", 9), ("\"abc\"", 5), ("null", 2), ("[]", 5), ("{\"a\": 1}", 13)]
    {
        assert_eq!(read(text).mysql_size(), size, "{text}");
    }
}

#[test]
fn stored_forms_order_and_print_as_their_trees() {
    let texts = [
        "null",
        "true",
        "false",
        "1",
        "1.0",
        "-2",
        "\"a\"",
        "\"\"",
        "[]",
        "[1]",
        "[1, 2]",
        "[1, [2]]",
        "{}",
        "{\"a\": 1}",
        "{\"a\": [1, {\"b\": null}]}",
        "{\"b\": 1}",
        "{\"aa\": 1}",
        "{\"a\": 1, \"b\": 2}",
        "[[], {}]",
        "[{}, []]",
        "18446744073709551615",
    ];
    let all: Vec<(Json, Text)> =
        texts.iter().map(|t| read(t)).map(|j| (j.to_text(Room::FREE).unwrap(), j)).map(|(t, j)| (j, t)).collect();
    for (a, stored_a) in &all {
        let (mut key, mut stored_key, mut text) = (Vec::new(), Vec::new(), Vec::new());
        sort_key(a, &mut key);
        assert_eq!(sort_key_stored(stored_a, &mut stored_key), Some(()));
        assert_eq!(key, stored_key);
        Json::write_stored(stored_a, &mut text);
        assert_eq!(text, a.to_bytes());
        for (b, stored_b) in &all {
            assert_eq!(compare_stored(stored_a, stored_b), Some(compare(a, b)), "{a:?} {b:?}");
        }
    }
    // What is cut short has no text.
    let stored = read("[1, [2, \"x\"]]").to_text(Room::FREE).unwrap();
    for n in 0..stored.len() {
        let mut text = b"before".to_vec();
        Json::write_stored(&stored[..n], &mut text);
        assert_eq!(text, b"before");
    }
}

/// So many bytes.
struct Only(gannet_base::sync::atomic::AtomicUsize);

impl crate::room::Grants for Only {
    fn take(&self, bytes: usize) -> bool {
        use gannet_base::sync::atomic::Ordering::Relaxed;
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

#[test]
fn trees_take_room() {
    let text = format!("[{}1]", "1, ".repeat(20_000));
    let in_room = |bytes: usize, f: &dyn Fn(Room<'_>) -> bool| {
        let only = Only(gannet_base::sync::atomic::AtomicUsize::new(bytes));
        f(Room::of(&only))
    };
    let parses = |room: Room<'_>| parse_until(text.as_bytes(), crate::convert::never, room) != Err(ParseError::NoRoom);
    assert!(!in_room(1 << 19, &parses) && in_room(1 << 22, &parses));
    let json = read(&text);
    let stored = json.to_text(Room::FREE).unwrap();
    let number = |r: Result<Json>| r.err().map(|e| e.number());
    assert!(in_room(1 << 19, &|room| number(Json::decode(&stored, room)) == Some(1038)));
    assert!(in_room(1 << 22, &|room| number(Json::decode(&stored, room)).is_none()));
    assert!(in_room(1 << 16, &|room| json.to_text(room).map_err(|e| e.number()) == Err(1038)));
    // A hundred levels: lines of spaces.
    let deep = read(&format!("{}{}{}", "[".repeat(90), "1, ".repeat(999) + "1", "]".repeat(90)));
    assert!(in_room(1 << 17, &|room| deep.pretty(room).map_err(|e| e.number()) == Err(1038)));
    // Each level measures its values once.
    let nested = read(&format!("{}\"{}\"{}", "[".repeat(90), "x".repeat(100_000), "]".repeat(90)));
    assert!(nested.mysql_size() > 100_000);
}
