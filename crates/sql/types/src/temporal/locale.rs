//! Names of months and days in the languages of `lc_time_names`.
//!
//! From the locale data of the C library, where MySQL's are from too; spellings that have changed there since differ.
//! Of English alone everything is ASCII.

/// A language's names: months, months in short, days from Monday, days in short; each list divided by `;`.
#[derive(Debug)]
pub struct Locale {
    /// `de_DE` and the like.
    names: &'static [&'static str],
    words: [&'static str; 4],
}

impl Locale {
    /// en_US.
    pub const ENGLISH: &'static Locale = &LOCALES[0];

    /// By name, in any case of letters.
    pub fn by_name(name: &str) -> Option<&'static Locale> {
        LOCALES.iter().find(|l| l.names.iter().any(|n| n.eq_ignore_ascii_case(name)))
    }

    /// English, in one of its countries.
    pub fn is_english(&self) -> bool {
        self.names.contains(&"en_US")
    }

    fn word(&self, list: usize, at: u32) -> Option<&'static str> {
        self.words[list].split(';').nth(at as usize)
    }

    /// Name of month 1..=12; `short`: as `%b` has it.
    pub fn month(&self, month: u32, short: bool) -> Option<&'static str> {
        self.word(usize::from(short), month.checked_sub(1)?)
    }

    /// Name of a day, 0 is Monday; `short`: as `%a` has it.
    pub fn weekday(&self, day: u32, short: bool) -> Option<&'static str> {
        self.word(2 + usize::from(short), day)
    }
}

/// The names in the order of MySQL's numbers, by which binary logs set `lc_time_names`.
pub const LOCALE_NUMBERS: &[&str] = &[
    "en_US", "en_GB", "ja_JP", "sv_SE", "de_DE", "fr_FR", "ar_AE", "ar_BH", "ar_JO", "ar_SA", "ar_SY", "be_BY",
    "bg_BG", "ca_ES", "cs_CZ", "da_DK", "de_AT", "es_ES", "et_EE", "eu_ES", "fi_FI", "fo_FO", "gl_ES", "gu_IN",
    "he_IL", "hi_IN", "hr_HR", "hu_HU", "id_ID", "is_IS", "it_CH", "ko_KR", "lt_LT", "lv_LV", "mk_MK", "mn_MN",
    "ms_MY", "nb_NO", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "ro_RO", "ru_RU", "ru_UA", "sk_SK", "sl_SI", "sq_AL",
    "sr_RS", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK", "vi_VN", "zh_CN", "zh_TW", "ar_DZ", "ar_EG",
    "ar_IN", "ar_IQ", "ar_KW", "ar_LB", "ar_LY", "ar_MA", "ar_OM", "ar_QA", "ar_SD", "ar_TN", "ar_YE", "de_BE",
    "de_CH", "de_LU", "en_AU", "en_CA", "en_IN", "en_NZ", "en_PH", "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL",
    "es_CO", "es_CR", "es_DO", "es_EC", "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY",
    "es_SV", "es_US", "es_UY", "es_VE", "fr_BE", "fr_CA", "fr_CH", "fr_LU", "it_IT", "nl_BE", "no_NO", "sv_FI",
    "zh_HK", "el_GR", "rm_CH",
];

/// All names that `lc_time_names` takes.
pub const LOCALE_NAMES: &[&str] = &[
    "ar_AE", "ar_BH", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_JO", "ar_KW", "ar_LB", "ar_LY", "ar_MA", "ar_OM",
    "ar_QA", "ar_SA", "ar_SD", "ar_SY", "ar_TN", "ar_YE", "be_BY", "bg_BG", "ca_ES", "cs_CZ", "da_DK", "de_AT",
    "de_BE", "de_CH", "de_DE", "de_LU", "el_GR", "en_AU", "en_CA", "en_GB", "en_IN", "en_NZ", "en_PH", "en_US",
    "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO", "es_EC", "es_ES", "es_GT", "es_HN",
    "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY", "es_SV", "es_US", "es_UY", "es_VE", "et_EE", "eu_ES",
    "fi_FI", "fo_FO", "fr_BE", "fr_CA", "fr_CH", "fr_FR", "fr_LU", "gl_ES", "gu_IN", "he_IL", "hi_IN", "hr_HR",
    "hu_HU", "id_ID", "is_IS", "it_CH", "it_IT", "ja_JP", "ko_KR", "lt_LT", "lv_LV", "mk_MK", "mn_MN", "ms_MY",
    "nb_NO", "nl_BE", "nl_NL", "no_NO", "pl_PL", "pt_BR", "pt_PT", "ro_RO", "ru_RU", "ru_UA", "sk_SK", "sl_SI",
    "sq_AL", "sr_RS", "sv_SE", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK", "vi_VN", "zh_CN", "zh_TW",
];

const LOCALES: &[Locale] = &[
    Locale {
        names: &["en_AU", "en_CA", "en_GB", "en_IN", "en_NZ", "en_PH", "en_US", "en_ZA", "en_ZW"],
        words: [
            "January;February;March;April;May;June;July;August;September;October;November;December",
            "Jan;Feb;Mar;Apr;May;Jun;Jul;Aug;Sep;Oct;Nov;Dec",
            "Monday;Tuesday;Wednesday;Thursday;Friday;Saturday;Sunday",
            "Mon;Tue;Wed;Thu;Fri;Sat;Sun",
        ],
    },
    Locale {
        names: &["ar_AE"],
        words: [
            "يناير;فبراير;مارس;أبريل;مايو;يونيو;يوليو;أغسطس;سبتمبر;أكتوبر;نوفمبر;ديسمبر",
            "ينا;فبر;مار;أبر;ماي;يون;يول;أغس;سبت;أكت;نوف;ديس",
            "الاثنين;الثلاثاء;الأربعاء;الخميس;الجمعة;السبت ;الأحد",
            "ن;ث;ر;خ;ج;س;ح",
        ],
    },
    Locale {
        names: &["ar_BH", "ar_EG", "ar_IN", "ar_KW", "ar_LY", "ar_OM", "ar_QA", "ar_SD", "ar_YE"],
        words: [
            "يناير;فبراير;مارس;أبريل;مايو;يونيو;يوليو;أغسطس;سبتمبر;أكتوبر;نوفمبر;ديسمبر",
            "ينا;فبر;مار;أبر;ماي;يون;يول;أغس;سبت;أكت;نوف;ديس",
            "الاثنين;الثلاثاء;الأربعاء;الخميس;الجمعة;السبت;الأحد",
            "ن;ث;ر;خ;ج;س;ح",
        ],
    },
    Locale {
        names: &["ar_DZ", "ar_TN"],
        words: [
            "جانفي;فيفري;مارس;أفريل;ماي;جوان;جويلية;أوت;سبتمبر;أكتوبر;نوفمبر;ديسمبر",
            "جانفي;فيفري;مارس;أفريل;ماي;جوان;جويلية;أوت;سبتمبر;أكتوبر;نوفمبر;ديسمبر",
            "الاثنين;الثلاثاء;الأربعاء;الخميس;الجمعة;السبت;الأحد",
            "ن;ث;ر;خ;ج;س;ح",
        ],
    },
    Locale {
        names: &["ar_IQ", "ar_JO", "ar_LB", "ar_SY"],
        words: [
            "كانون الثاني;شباط;آذار;نيسان;أيار;حزيران;تموز;آب;أيلول;تشرين الأول;تشرين الثاني;كانون الأول",
            "كانون الثاني;شباط;آذار;نيسان;أيار;حزيران;تموز;آب;أيلول;تشرين الأول;تشرين الثاني;كانون الأول",
            "الاثنين;الثلاثاء;الأربعاء;الخميس;الجمعة;السبت;الأحد",
            "ن;ث;ر;خ;ج;س;ح",
        ],
    },
    Locale {
        names: &["ar_MA"],
        words: [
            "يناير;فبراير;مارس;أبريل;ماي;يونيو;يوليوز;غشت;شتنبر;أكتوبر;نونبر;دجنبر",
            "يناير;فبراير;مارس;أبريل;ماي;يونيو;يوليوز;غشت;شتنبر;أكتوبر;نونبر;دجنبر",
            "الاثنين;الثلاثاء;الأربعاء;الخميس;الجمعة;السبت;الأحد",
            "ن;ث;ر;خ;ج;س;ح",
        ],
    },
    Locale {
        names: &["ar_SA"],
        words: [
            "يناير;فبراير;مارس;أبريل;مايو;يونيو;يوليو;أغسطس;سبتمبر;أكتوبر;نوفمبر;ديسمبر",
            "يناير;فبراير;مارس;أبريل;مايو;يونيو;يوليو;أغسطس;سبتمبر;أكتوبر;نوفمبر;ديسمبر",
            "الإثنين;الثلاثاء;الأربعاء;الخميس;الجمعـة;السبت;الأحد",
            "ن;ث;ر;خ;ج;س;ح",
        ],
    },
    Locale {
        names: &["be_BY"],
        words: [
            "студзень;люты;сакавік;красавік;май;чэрвень;ліпень;жнівень;верасень;кастрычнік;лістапад;снежань",
            "сту;лют;сак;кра;мая;чэр;ліп;жні;вер;кас;ліс;сне",
            "Панядзелак;Аўторак;Серада;Чацвер;Пятніца;Субота;Нядзеля",
            "Пан;Аўт;Срд;Чцв;Пят;Суб;Няд",
        ],
    },
    Locale {
        names: &["bg_BG"],
        words: [
            "януари;февруари;март;април;май;юни;юли;август;септември;октомври;ноември;декември",
            "яну;фев;мар;апр;май;юни;юли;авг;сеп;окт;ное;дек",
            "понеделник;вторник;сряда;четвъртък;петък;събота;неделя",
            "пн;вт;ср;чт;пт;сб;нд",
        ],
    },
    Locale {
        names: &["ca_ES"],
        words: [
            "gener;febrer;març;abril;maig;juny;juliol;agost;setembre;octubre;novembre;desembre",
            "de gen.;de febr.;de març;d’abr.;de maig;de juny;de jul.;d’ag.;de set.;d’oct.;de nov.;de des.",
            "dilluns;dimarts;dimecres;dijous;divendres;dissabte;diumenge",
            "dl.;dt.;dc.;dj.;dv.;ds.;dg.",
        ],
    },
    Locale {
        names: &["cs_CZ"],
        words: [
            "leden;únor;březen;duben;květen;červen;červenec;srpen;září;říjen;listopad;prosinec",
            "led;úno;bře;dub;kvě;čen;čec;srp;zář;říj;lis;pro",
            "Pondělí;Úterý;Středa;Čtvrtek;Pátek;Sobota;Neděle",
            "Po;Út;St;Čt;Pá;So;Ne",
        ],
    },
    Locale {
        names: &["da_DK"],
        words: [
            "januar;februar;marts;april;maj;juni;juli;august;september;oktober;november;december",
            "jan;feb;mar;apr;maj;jun;jul;aug;sep;okt;nov;dec",
            "mandag;tirsdag;onsdag;torsdag;fredag;lørdag;søndag",
            "man;tir;ons;tor;fre;lør;søn",
        ],
    },
    Locale {
        names: &["de_AT"],
        words: [
            "Jänner;Februar;März;April;Mai;Juni;Juli;August;September;Oktober;November;Dezember",
            "Jän;Feb;Mär;Apr;Mai;Jun;Jul;Aug;Sep;Okt;Nov;Dez",
            "Montag;Dienstag;Mittwoch;Donnerstag;Freitag;Samstag;Sonntag",
            "Mo;Di;Mi;Do;Fr;Sa;So",
        ],
    },
    Locale {
        names: &["de_BE", "de_CH", "de_DE", "de_LU"],
        words: [
            "Januar;Februar;März;April;Mai;Juni;Juli;August;September;Oktober;November;Dezember",
            "Jan;Feb;Mär;Apr;Mai;Jun;Jul;Aug;Sep;Okt;Nov;Dez",
            "Montag;Dienstag;Mittwoch;Donnerstag;Freitag;Samstag;Sonntag",
            "Mo;Di;Mi;Do;Fr;Sa;So",
        ],
    },
    Locale {
        names: &["el_GR"],
        words: [
            "Ιανουάριος;Φεβρουάριος;Μάρτιος;Απρίλιος;Μάιος;Ιούνιος;Ιούλιος;Αύγουστος;Σεπτέμβριος;Οκτώβριος;Νοέμβριος;Δεκέμβριος",
            "Ιαν;Φεβ;Μαρ;Απρ;Μαΐ;Ιουν;Ιουλ;Αυγ;Σεπ;Οκτ;Νοε;Δεκ",
            "Δευτέρα;Τρίτη;Τετάρτη;Πέμπτη;Παρασκευή;Σάββατο;Κυριακή",
            "Δευ;Τρι;Τετ;Πεμ;Παρ;Σαβ;Κυρ",
        ],
    },
    Locale {
        names: &[
            "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO", "es_EC", "es_ES", "es_GT", "es_HN", "es_MX", "es_NI",
            "es_PA", "es_PR", "es_PY", "es_SV", "es_US", "es_VE",
        ],
        words: [
            "enero;febrero;marzo;abril;mayo;junio;julio;agosto;septiembre;octubre;noviembre;diciembre",
            "ene;feb;mar;abr;may;jun;jul;ago;sep;oct;nov;dic",
            "lunes;martes;miércoles;jueves;viernes;sábado;domingo",
            "lun;mar;mié;jue;vie;sáb;dom",
        ],
    },
    Locale {
        names: &["es_PE", "es_UY"],
        words: [
            "enero;febrero;marzo;abril;mayo;junio;julio;agosto;setiembre;octubre;noviembre;diciembre",
            "ene;feb;mar;abr;may;jun;jul;ago;set;oct;nov;dic",
            "lunes;martes;miércoles;jueves;viernes;sábado;domingo",
            "lun;mar;mié;jue;vie;sáb;dom",
        ],
    },
    Locale {
        names: &["et_EE"],
        words: [
            "jaanuar;veebruar;märts;aprill;mai;juuni;juuli;august;september;oktoober;november;detsember",
            "jaan ;veebr;märts;apr  ;mai  ;juuni;juuli;aug  ;sept ;okt  ;nov  ;dets ",
            "esmaspäev;teisipäev;kolmapäev;neljapäev;reede;laupäev;pühapäev",
            "E;T;K;N;R;L;P",
        ],
    },
    Locale {
        names: &["eu_ES"],
        words: [
            "urtarrila;otsaila;martxoa;apirila;maiatza;ekaina;uztaila;abuztua;iraila;urria;azaroa;abendua",
            "urt;ots;mar;api;mai;eka;uzt;abu;ira;urr;aza;abe",
            "astelehena;asteartea;asteazkena;osteguna;ostirala;larunbata;igandea",
            "al.;ar.;az.;og.;or.;lr.;ig.",
        ],
    },
    Locale {
        names: &["fi_FI"],
        words: [
            "tammikuu;helmikuu;maaliskuu;huhtikuu;toukokuu;kesäkuu;heinäkuu;elokuu;syyskuu;lokakuu;marraskuu;joulukuu",
            "tammi;helmi;maalis;huhti;touko;kesä;heinä;elo;syys;loka;marras;joulu",
            "maanantai;tiistai;keskiviikko;torstai;perjantai;lauantai;sunnuntai",
            "ma;ti;ke;to;pe;la;su",
        ],
    },
    Locale {
        names: &["fo_FO"],
        words: [
            "januar;februar;mars;apríl;mai;juni;juli;august;september;oktober;november;desember",
            "jan;feb;mar;apr;mai;jun;jul;aug;sep;okt;nov;des",
            "mánadagur;týsdagur;mikudagur;hósdagur;fríggjadagur;leygardagur;sunnudagur",
            "mán;týs;mik;hós;frí;ley;sun",
        ],
    },
    Locale {
        names: &["fr_BE", "fr_CA", "fr_CH", "fr_FR", "fr_LU"],
        words: [
            "janvier;février;mars;avril;mai;juin;juillet;août;septembre;octobre;novembre;décembre",
            "jan;fév;mar;avr;mai;jun;jui;aoû;sep;oct;nov;déc",
            "lundi;mardi;mercredi;jeudi;vendredi;samedi;dimanche",
            "lun;mar;mer;jeu;ven;sam;dim",
        ],
    },
    Locale {
        names: &["gl_ES"],
        words: [
            "Xaneiro;Febreiro;Marzo;Abril;Maio;Xuño;Xullo;Agosto;Setembro;Outubro;Novembro;Decembro",
            "Xan;Feb;Mar;Abr;Mai;Xuñ;Xul;Ago;Set;Out;Nov;Dec",
            "Luns;Martes;Mércores;Xoves;Venres;Sábado;Domingo",
            "Lun;Mar;Mér;Xov;Ven;Sáb;Dom",
        ],
    },
    Locale {
        names: &["gu_IN"],
        words: [
            "જાન્યુઆરી;ફેબ્રુઆરી;માર્ચ;એપ્રિલ;મે;જૂન;જુલાઈ;ઑગસ્ટ;સપ્ટેમ્બર;ઑક્ટોબર;નવેમ્બર;ડિસેમ્બર",
            "જાન્યુ;ફેબ્રુ;માર્ચ;એપ્રિલ;મે;જૂન;જુલાઈ;ઑગસ્ટ;સપ્ટે;ઑક્ટો;નવે;ડિસે",
            "સોમવાર;મંગળવાર;બુધવાર;ગુરુવાર;શુક્રવાર;શનિવાર;રવિવાર",
            "સોમ;મંગળ;બુધ;ગુરુ;શુક્ર;શનિ;રવિ",
        ],
    },
    Locale {
        names: &["he_IL"],
        words: [
            "ינואר;פברואר;מרץ;אפריל;מאי;יוני;יולי;אוגוסט;ספטמבר;אוקטובר;נובמבר;דצמבר",
            "ינו;פבר;מרץ;אפר;מאי;יונ;יול;אוג;ספט;אוק;נוב;דצמ",
            "שני;שלישי;רביעי;חמישי;שישי;שבת;ראשון",
            "ב';ג';ד';ה';ו';ש';א'",
        ],
    },
    Locale {
        names: &["hi_IN"],
        words: [
            "जनवरी;फ़रवरी;मार्च;अप्रैल;मई;जून;जुलाई;अगस्त;सितंबर;अक्तूबर;नवंबर;दिसंबर",
            "जन॰;फ़र॰;मार्च;अप्रैल;मई;जून;जुल॰;अग॰;सित॰;अक्तू॰;नव॰;दिस॰",
            "सोमवार;मंगलवार;बुधवार;गुरुवार;शुक्रवार;शनिवार;रविवार",
            "सोम;मंगल;बुध;गुरु;शुक्र;शनि;रवि",
        ],
    },
    Locale {
        names: &["hr_HR"],
        words: [
            "siječanj;veljača;ožujak;travanj;svibanj;lipanj;srpanj;kolovoz;rujan;listopad;studeni;prosinac",
            "sij;velj;ožu;tra;svi;lip;srp;kol;ruj;lis;stu;pro",
            "ponedjeljak;utorak;srijeda;četvrtak;petak;subota;nedjelja",
            "pon;uto;sri;čet;pet;sub;ned",
        ],
    },
    Locale {
        names: &["hu_HU"],
        words: [
            "január;február;március;április;május;június;július;augusztus;szeptember;október;november;december",
            "jan;febr;márc;ápr;máj;jún;júl;aug;szept;okt;nov;dec",
            "hétfő;kedd;szerda;csütörtök;péntek;szombat;vasárnap",
            "h;k;sze;cs;p;szo;v",
        ],
    },
    Locale {
        names: &["id_ID"],
        words: [
            "Januari;Februari;Maret;April;Mei;Juni;Juli;Agustus;September;Oktober;November;Desember",
            "Jan;Feb;Mar;Apr;Mei;Jun;Jul;Agu;Sep;Okt;Nov;Des",
            "Senin;Selasa;Rabu;Kamis;Jumat;Sabtu;Minggu",
            "Sen;Sel;Rab;Kam;Jum;Sab;Min",
        ],
    },
    Locale {
        names: &["is_IS"],
        words: [
            "janúar;febrúar;mars;apríl;maí;júní;júlí;ágúst;september;október;nóvember;desember",
            "jan;feb;mar;apr;maí;jún;júl;ágú;sep;okt;nóv;des",
            "mánudagur;þriðjudagur;miðvikudagur;fimmtudagur;föstudagur;laugardagur;sunnudagur",
            "mán;þri;mið;fim;fös;lau;sun",
        ],
    },
    Locale {
        names: &["it_CH", "it_IT"],
        words: [
            "gennaio;febbraio;marzo;aprile;maggio;giugno;luglio;agosto;settembre;ottobre;novembre;dicembre",
            "gen;feb;mar;apr;mag;giu;lug;ago;set;ott;nov;dic",
            "lunedì;martedì;mercoledì;giovedì;venerdì;sabato;domenica",
            "lun;mar;mer;gio;ven;sab;dom",
        ],
    },
    Locale {
        names: &["ja_JP"],
        words: [
            "1月;2月;3月;4月;5月;6月;7月;8月;9月;10月;11月;12月",
            " 1月; 2月; 3月; 4月; 5月; 6月; 7月; 8月; 9月;10月;11月;12月",
            "月曜日;火曜日;水曜日;木曜日;金曜日;土曜日;日曜日",
            "月;火;水;木;金;土;日",
        ],
    },
    Locale {
        names: &["ko_KR"],
        words: [
            "1월;2월;3월;4월;5월;6월;7월;8월;9월;10월;11월;12월",
            " 1월; 2월; 3월; 4월; 5월; 6월; 7월; 8월; 9월;10월;11월;12월",
            "월요일;화요일;수요일;목요일;금요일;토요일;일요일",
            "월;화;수;목;금;토;일",
        ],
    },
    Locale {
        names: &["lt_LT"],
        words: [
            "sausis;vasaris;kovas;balandis;gegužė;birželis;liepa;rugpjūtis;rugsėjis;spalis;lapkritis;gruodis",
            "saus.;vas.;kov.;bal.;geg.;birž.;liep.;rugp.;rugs.;spal.;lapkr.;gruod.",
            "Pirmadienis;Antradienis;Trečiadienis;Ketvirtadienis;Penktadienis;Šeštadienis;Sekmadienis",
            "Pr;An;Tr;Kt;Pn;Št;Sk",
        ],
    },
    Locale {
        names: &["lv_LV"],
        words: [
            "janvāris;februāris;marts;aprīlis;maijs;jūnijs;jūlijs;augusts;septembris;oktobris;novembris;decembris",
            "jan;feb;mar;apr;mai;jūn;jūl;aug;sep;okt;nov;dec",
            "pirmdiena;otrdiena;trešdiena;ceturtdiena;piektdiena;sestdiena;svētdiena",
            "P ;O ;T ;C ;Pk;S ;Sv",
        ],
    },
    Locale {
        names: &["mk_MK"],
        words: [
            "јануари;февруари;март;април;мај;јуни;јули;август;септември;октомври;ноември;декември",
            "јан;фев;мар;апр;мај;јун;јул;авг;сеп;окт;ное;дек",
            "понеделник;вторник;среда;четврток;петок;сабота;недела",
            "пон;вто;сре;чет;пет;саб;нед",
        ],
    },
    Locale {
        names: &["mn_MN"],
        words: [
            "Нэгдүгээр сар;Хоёрдугаар сар;Гуравдугаар сар;Дөрөвдүгээр сар;Тавдугаар сар;Зургадугаар сар;Долдугаар сар;Наймдугаар сар;Есдүгээр сар;Аравдугаар сар;Арван нэгдүгээр сар;Арван хоёрдугаар сар",
            "1-р сар;2-р сар;3-р сар;4-р сар;5-р сар;6-р сар;7-р сар;8-р сар;9-р сар;10-р сар;11-р сар;12-р сар",
            "Даваа;Мягмар;Лхагва;Пүрэв;Баасан;Бямба;Ням",
            "Да;Мя;Лх;Пү;Ба;Бя;Ня",
        ],
    },
    Locale {
        names: &["ms_MY"],
        words: [
            "Januari;Februari;Mac;April;Mei;Jun;Julai;Ogos;September;Oktober;November;Disember",
            "Jan;Feb;Mac;Apr;Mei;Jun;Jul;Ogos;Sep;Okt;Nov;Dis",
            "Isnin;Selasa;Rabu;Khamis;Jumaat;Sabtu;Ahad",
            "Isn;Sel;Rab;Kha;Jum;Sab;Ahd",
        ],
    },
    Locale {
        names: &["nb_NO", "no_NO"],
        words: [
            "januar;februar;mars;april;mai;juni;juli;august;september;oktober;november;desember",
            "jan.;feb.;mars;april;mai;juni;juli;aug.;sep.;okt.;nov.;des.",
            "mandag;tirsdag;onsdag;torsdag;fredag;lørdag;søndag",
            "ma.;ti.;on.;to.;fr.;lø.;sø.",
        ],
    },
    Locale {
        names: &["nl_BE", "nl_NL"],
        words: [
            "januari;februari;maart;april;mei;juni;juli;augustus;september;oktober;november;december",
            "jan;feb;mrt;apr;mei;jun;jul;aug;sep;okt;nov;dec",
            "maandag;dinsdag;woensdag;donderdag;vrijdag;zaterdag;zondag",
            "ma;di;wo;do;vr;za;zo",
        ],
    },
    Locale {
        names: &["pl_PL"],
        words: [
            "styczeń;luty;marzec;kwiecień;maj;czerwiec;lipiec;sierpień;wrzesień;październik;listopad;grudzień",
            "sty;lut;mar;kwi;maj;cze;lip;sie;wrz;paź;lis;gru",
            "poniedziałek;wtorek;środa;czwartek;piątek;sobota;niedziela",
            "pon;wto;śro;czw;pią;sob;nie",
        ],
    },
    Locale {
        names: &["pt_BR", "pt_PT"],
        words: [
            "janeiro;fevereiro;março;abril;maio;junho;julho;agosto;setembro;outubro;novembro;dezembro",
            "jan;fev;mar;abr;mai;jun;jul;ago;set;out;nov;dez",
            "segunda;terça;quarta;quinta;sexta;sábado;domingo",
            "seg;ter;qua;qui;sex;sáb;dom",
        ],
    },
    Locale {
        names: &["ro_RO"],
        words: [
            "ianuarie;februarie;martie;aprilie;mai;iunie;iulie;august;septembrie;octombrie;noiembrie;decembrie",
            "ian;feb;mar;apr;mai;iun;iul;aug;sep;oct;nov;dec",
            "luni;marți;miercuri;joi;vineri;sâmbătă;duminică",
            "Lu;Ma;Mi;Jo;Vi;Sb;Du",
        ],
    },
    Locale {
        names: &["ru_RU", "ru_UA"],
        words: [
            "Январь;Февраль;Март;Апрель;Май;Июнь;Июль;Август;Сентябрь;Октябрь;Ноябрь;Декабрь",
            "янв;фев;мар;апр;мая;июн;июл;авг;сен;окт;ноя;дек",
            "Понедельник;Вторник;Среда;Четверг;Пятница;Суббота;Воскресенье",
            "Пн;Вт;Ср;Чт;Пт;Сб;Вс",
        ],
    },
    Locale {
        names: &["sk_SK"],
        words: [
            "január;február;marec;apríl;máj;jún;júl;august;september;október;november;december",
            "jan;feb;mar;apr;máj;jún;júl;aug;sep;okt;nov;dec",
            "Pondelok;Utorok;Streda;Štvrtok;Piatok;Sobota;Nedeľa",
            "Po;Ut;St;Št;Pi;So;Ne",
        ],
    },
    Locale {
        names: &["sl_SI"],
        words: [
            "januar;februar;marec;april;maj;junij;julij;avgust;september;oktober;november;december",
            "jan;feb;mar;apr;maj;jun;jul;avg;sep;okt;nov;dec",
            "ponedeljek;torek;sreda;četrtek;petek;sobota;nedelja",
            "pon;tor;sre;čet;pet;sob;ned",
        ],
    },
    Locale {
        names: &["sq_AL"],
        words: [
            "janar;shkurt;mars;prill;maj;qershor;korrik;gusht;shtator;tetor;nëntor;dhjetor",
            "Jan;Shk;Mar;Pri;Maj;Qer;Kor;Gsh;Sht;Tet;Nën;Dhj",
            "e hënë;e martë;e mërkurë;e enjte;e premte;e shtunë;e diel",
            "Hën;Mar;Mër;Enj;Pre;Sht;Die",
        ],
    },
    Locale {
        names: &["sr_RS"],
        words: [
            "januar;februar;mart;april;maj;jun;jul;avgust;septembar;oktobar;novembar;decembar",
            "jan;feb;mar;apr;maj;jun;jul;avg;sep;okt;nov;dec",
            "ponedeljak;utorak;sreda;četvrtak;petak;subota;nedelja",
            "pon;uto;sre;čet;pet;sub;ned",
        ],
    },
    Locale {
        names: &["sv_SE"],
        words: [
            "januari;februari;mars;april;maj;juni;juli;augusti;september;oktober;november;december",
            "jan;feb;mar;apr;maj;jun;jul;aug;sep;okt;nov;dec",
            "måndag;tisdag;onsdag;torsdag;fredag;lördag;söndag",
            "mån;tis;ons;tor;fre;lör;sön",
        ],
    },
    Locale {
        names: &["ta_IN"],
        words: [
            "ஜனவரி;பிப்ரவரி;மார்ச்;ஏப்ரல்;மே;ஜூன்;ஜூலை;ஆகஸ்ட்;செப்டம்பர்;அக்டோபர்;நவம்பர்;டிசம்பர்",
            "ஜன.;பிப்.;மார்.;ஏப்.;மே;ஜூன்;ஜூலை;ஆக.;செப்.;அக்.;நவ.;டிச.",
            "திங்கள்;செவ்வாய்;புதன்;வியாழன்;வெள்ளி;சனி;ஞாயிறு",
            "தி;செ;பு;வி;வெ;ச;ஞா",
        ],
    },
    Locale {
        names: &["te_IN"],
        words: [
            "జనవరి;ఫిబ్రవరి;మార్చి;ఏప్రిల్;మే;జూన్;జులై;ఆగస్టు;సెప్టెంబర్;అక్టోబర్;నవంబర్;డిసెంబర్",
            "జన;ఫిబ్ర;మార్చి;ఏప్రి;మే;జూన్;జులై;ఆగ;సెప్టెం;అక్టో;నవం;డిసెం",
            "స<U0C4b>మవారం;మంగళవారం;బుధవారం;గురువారం;శుక<U0C4d>రవారం;శనివారం;ఆదివారం",
            "స<U0C4b>మ;మంగళ;బుధ;గురు;శుక్ర;శని;ఆది",
        ],
    },
    Locale {
        names: &["th_TH"],
        words: [
            "มกราคม;กุมภาพันธ์;มีนาคม;เมษายน;พฤษภาคม;มิถุนายน;กรกฎาคม;สิงหาคม;กันยายน;ตุลาคม;พฤศจิกายน;ธันวาคม",
            "ม.ค.;ก.พ.;มี.ค.;เม.ย.;พ.ค.;มิ.ย.;ก.ค.;ส.ค.;ก.ย.;ต.ค.;พ.ย.;ธ.ค.",
            "จันทร์;อังคาร;พุธ;พฤหัสบดี;ศุกร์;เสาร์;อาทิตย์",
            "จ.;อ.;พ.;พฤ.;ศ.;ส.;อา.",
        ],
    },
    Locale {
        names: &["tr_TR"],
        words: [
            "Ocak;Şubat;Mart;Nisan;Mayıs;Haziran;Temmuz;Ağustos;Eylül;Ekim;Kasım;Aralık",
            "Oca;Şub;Mar;Nis;May;Haz;Tem;Ağu;Eyl;Eki;Kas;Ara",
            "Pazartesi;Salı;Çarşamba;Perşembe;Cuma;Cumartesi;Pazar",
            "Pzt;Sal;Çrş;Prş;Cum;Cts;Paz",
        ],
    },
    Locale {
        names: &["uk_UA"],
        words: [
            "січень;лютий;березень;квітень;травень;червень;липень;серпень;вересень;жовтень;листопад;грудень",
            "січ;лют;бер;кві;тра;чер;лип;сер;вер;жов;лис;гру",
            "понеділок;вівторок;середа;четвер;п'ятниця;субота;неділя",
            "пн;вт;ср;чт;пт;сб;нд",
        ],
    },
    Locale {
        names: &["ur_PK"],
        words: [
            "جنوری;فروری;مارچ;اپریل;مئی;جون;جولائی;اگست;ستمبر;اکتوبر;نومبر;دسمبر",
            "جنوری;فروری;مارچ;اپریل;مئی;جون;جولائی;اگست;ستمبر;اکتوبر;نومبر;دسمبر",
            "پير;منگل;بدھ;جمعرات;جمعه;هفته;اتوار",
            "پير;منگل;بدھ;جمعرات;جمعه;هفته;اتوار",
        ],
    },
    Locale {
        names: &["vi_VN"],
        words: [
            "Tháng 1;Tháng 2;Tháng 3;Tháng 4;Tháng 5;Tháng 6;Tháng 7;Tháng 8;Tháng 9;Tháng 10;Tháng 11;Tháng 12",
            "Thg 1;Thg 2;Thg 3;Thg 4;Thg 5;Thg 6;Thg 7;Thg 8;Thg 9;Thg 10;Thg 11;Thg 12",
            "Thứ hai;Thứ ba;Thứ tư;Thứ năm;Thứ sáu;Thứ bảy;Chủ nhật",
            "T2;T3;T4;T5;T6;T7;CN",
        ],
    },
    Locale {
        names: &["zh_CN"],
        words: [
            "一月;二月;三月;四月;五月;六月;七月;八月;九月;十月;十一月;十二月",
            "1月;2月;3月;4月;5月;6月;7月;8月;9月;10月;11月;12月",
            "星期一;星期二;星期三;星期四;星期五;星期六;星期日",
            "一;二;三;四;五;六;日",
        ],
    },
    Locale {
        names: &["zh_TW"],
        words: [
            "一月;二月;三月;四月;五月;六月;七月;八月;九月;十月;十一月;十二月",
            " 1月; 2月; 3月; 4月; 5月; 6月; 7月; 8月; 9月;10月;11月;12月",
            "週一;週二;週三;週四;週五;週六;週日",
            "一;二;三;四;五;六;日",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_words() {
        for name in LOCALE_NAMES {
            let locale = Locale::by_name(name).unwrap();
            for short in [false, true] {
                assert!((1..=12).all(|m| locale.month(m, short).is_some_and(|w| !w.is_empty())), "{name}");
                assert!((0..7).all(|d| locale.weekday(d, short).is_some_and(|w| !w.is_empty())), "{name}");
                assert!(locale.month(13, short).is_none() && locale.month(0, short).is_none());
            }
        }
        assert_eq!(Locale::by_name("de_AT").unwrap().month(1, false), Some("Jänner"));
        assert!(Locale::by_name("xx_XX").is_none() && Locale::ENGLISH.is_english());
    }
}
