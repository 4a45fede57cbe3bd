//! Secrets in a text: keys and tokens by their shape, and this installation's own by their value.

use std::fmt;
use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use regex::Regex;

use crate::persona::Language;
use crate::texts;

/// The minimum length of a configured secret that is searched for: shorter ones may be ordinary words.
const MIN_OWN_LENGTH: usize = 8;

/// The documented shapes of keys and tokens.
const SHAPES: [&str; 12] = [
    // Slack
    r"\bxox[a-z](?:\.xox[a-z])?-[0-9A-Za-z-]{8,}",
    r"\bxapp-[0-9A-Za-z-]{8,}",
    // Discord
    r"\b[MNO][0-9A-Za-z_-]{22,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,}",
    // Model providers and search
    r"\bsk-[0-9A-Za-z_-]{16,}",
    r"\bxai-[0-9A-Za-z_-]{16,}",
    r"\btvly-[0-9A-Za-z_-]{16,}",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    // Amazon
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    // Code hosting
    r"\b(?:gh[opsur]_|github_pat_|glpat-)[0-9A-Za-z_-]{16,}",
    // JSON Web Tokens
    r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}",
    // PEM
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
    // Incoming webhooks: anyone who knows the path may post.
    r"\bhooks\.slack\.com/services/[0-9A-Za-z/]{16,}|\bdiscord(?:app)?\.com/api/webhooks/[0-9A-Za-z/_-]{16,}",
];

static SHAPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&SHAPES.join("|")).expect("the shapes are valid patterns"));

/// Finds secrets in texts. Clones share the known secrets.
#[derive(Clone, Default)]
pub struct SecretScanner {
    /// This installation's own keys and tokens, longest first.
    own: Arc<RwLock<Vec<String>>>,
}

impl SecretScanner {
    /// Creates a scanner that also finds these values, wherever they occur.
    pub fn new<'a>(own: impl IntoIterator<Item = &'a str>) -> Self {
        let scanner = Self::default();
        own.into_iter().for_each(|secret| scanner.learn(secret));
        scanner
    }

    /// Adds a value that is found from now on.
    pub fn learn(&self, secret: &str) {
        let mut own = self.own.write();
        if secret.len() >= MIN_OWN_LENGTH && own.iter().all(|known| known != secret) {
            own.push(secret.to_owned());
            own.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Replaces every secret by a notice.
    pub fn redact(&self, text: &str, language: Language) -> String {
        let notice = texts::replies::secret_removed(language);
        let replace_own = |text: String, secret: &String| text.replace(secret, notice);
        let text = self.own.read().iter().fold(text.to_owned(), replace_own);
        SHAPE.replace_all(&text, notice).into_owned()
    }
}

impl SecretScanner {
    pub fn has_secret(&self, text: &str) -> bool {
        SHAPE.is_match(text) || self.own.read().iter().any(|secret| text.contains(secret))
    }
}

impl PartialEq for SecretScanner {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.own, &other.own) || *self.own.read() == *other.own.read()
    }
}

impl fmt::Debug for SecretScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretScanner").field("own", &self.own.read().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing;
    use crate::outgoing::urls::{CodeBlocks, KnownUrls, rendered_text};

    #[test]
    fn keys_are_recognized_by_their_shape_or_value() {
        let scanner = SecretScanner::new(["a-password-of-our-own", "short"]);
        for (text, expected) in [
            ("xoxb-1234567890-abcdefghij.", "[secret removed]."),
            ("xoxe.xoxp-1-Mi0yLTEyMzQ1", "[secret removed]"),
            ("the token (xapp-1-A0-123-abcdef)", "the token ([secret removed])"),
            ("sk-ant-api03-abcdefgh_ijkl", "[secret removed]"),
            ("sk-proj-abcdefghijklmnopです", "[secret removed]です"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[secret removed]"),
            ("AKIAABCDEFGHIJKLMNOP", "[secret removed]"),
            ("ghp_abcdefghijklmnopqrst", "[secret removed]"),
            ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF", "[secret removed]"),
            ("MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.abcdefghijklmnopqrstuvwxyz0", "[secret removed]"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- ok",
                "[secret removed] ok",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE and so on", "[secret removed]"),
            ("a-password-of-our-own is short", "[secret removed] is short"),
            ("risk-assessment-framework", "risk-assessment-framework"),
            ("sk-8, xox, AKIA and ghp_ begin keys", "sk-8, xox, AKIA and ghp_ begin keys"),
        ] {
            assert_eq!(scanner.redact(text, Language::En), expected, "{text}");
        }
    }

    #[test]
    fn no_markup_hides_a_secret() {
        let scanner = SecretScanner::new(["a-password-of-our-own"]);
        let known = KnownUrls::default();
        for text in [
            r"xoxb\-1234567890\-abcdef",
            "xoxb&#45;1234567890&hyphen;abcdef",
            "sk-proj-**abcdefgh**ijklmnop",
            "sk-proj-_abcdefgh_*ijklmnop*",
            "AKIA~~ABCD~~EFGHIJKLMNOP",
            "ghp_abcdefgh||ijklmnopqrst||",
            "ghp_abcdefgh<!-- -->ijklmnopqrst",
            "a-password-**of**-our-own",
            "> sk-proj-\u{200b}abcdefghijklmnop",
            "sk-proj-https://abcdefghijklmnop",
            "AIzaSyA1234567890[abcdefghijklmnopqrstuv](x)",
            "`sk-proj-`**`abcdefghijklmnop`**",
            r"eyJhbGciOiJIUzI1\.eyJzdWIiOiIxMjM0\.SflKxwRJSMeKKF",
            "-----BEGIN&#32;PRIVATE KEY-----\nMIIE",
        ] {
            let code = CodeBlocks::KeepUrls;
            let screened = outgoing::screen(text, &known, code, &scanner, Language::En);
            let seen = rendered_text(&screened);
            assert!(!scanner.has_secret(&seen) && !seen.contains("hij"), "{text} is {screened}");
        }
        let plain = "a **bold** word and `code` at evil.example, then\n\n- a list\n- of two";
        let screened =
            outgoing::screen(plain, &known, CodeBlocks::KeepUrls, &scanner, Language::En);
        assert_eq!(screened, plain);
    }

    #[test]
    fn debug_shows_no_secret() {
        let scanner = SecretScanner::new(["a-password-of-our-own"]);
        assert_eq!(format!("{scanner:?}"), "SecretScanner { own: 1 }");
    }
}
