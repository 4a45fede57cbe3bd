//! Character references of HTML, like `&eacute;` and `&#233;`. Supports the names of HTML 4 that pages use; an unknown
//! name is left as it is.

use std::borrow::Cow;

/// The names of the characters from U+00A0 to U+00FF, in their order.
const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr \
    deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest \
    Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml \
    ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig \
    agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml \
    eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

const OTHERS: [(&str, char); 46] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("lsaquo", '‹'),
    ("rsaquo", '›'),
    ("dagger", '†'),
    ("bull", '•'),
    ("hellip", '…'),
    ("permil", '‰'),
    ("prime", '′'),
    ("Prime", '″'),
    ("euro", '€'),
    ("trade", '™'),
    ("larr", '←'),
    ("uarr", '↑'),
    ("rarr", '→'),
    ("darr", '↓'),
    ("harr", '↔'),
    ("rArr", '⇒'),
    ("minus", '−'),
    ("infin", '∞'),
    ("ne", '≠'),
    ("le", '≤'),
    ("ge", '≥'),
    ("asymp", '≈'),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("OElig", 'Œ'),
    ("oelig", 'œ'),
    ("Scaron", 'Š'),
    ("scaron", 'š'),
    ("lambda", 'λ'),
    ("mu", 'μ'),
    ("pi", 'π'),
    ("check", '✓'),
];

/// The maximum length of a reference, without its delimiters.
const MAX_REFERENCE_BYTES: usize = 10;

/// Replaces the references in a text by their characters.
pub fn decode_references(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        decoded.push_str(before);
        let end = behind.bytes().take(MAX_REFERENCE_BYTES + 1).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((meaning(behind.get(..end)?)?, end)));
        match reference {
            Some((character, end)) => {
                decoded.push(character);
                rest = &behind[end + 1..];
            }
            None => {
                decoded.push('&');
                rest = behind;
            }
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn meaning(reference: &str) -> Option<char> {
    if let Some(number) = reference.strip_prefix('#') {
        let hexadecimal = number.strip_prefix(['x', 'X']);
        let number = match hexadecimal {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        };
        return char::from_u32(number?);
    }
    let other = OTHERS.iter().find(|(name, _)| *name == reference);
    if let Some((_, character)) = other {
        return Some(*character);
    }
    let place = LATIN.split_ascii_whitespace().position(|name| name == reference)?;
    char::from_u32(0xa0 + u32::try_from(place).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_characters() {
        for (text, expected) in [
            ("a &amp;&amp; b", "a && b"),
            ("&lt;b&gt; &quot;x&quot; &apos;", "<b> \"x\" '"),
            ("caf&eacute; &Eacute;t&eacute; &yuml;&nbsp;&Agrave;", "café Été ÿ\u{a0}À"),
            ("&#233;&#xE9;&#X1F600;", "éé😀"),
            ("x &unknown; &; &#; &#x110000; &amp", "x &unknown; &; &#; &#x110000; &amp"),
            ("a & b &あ; &hellip;", "a & b &あ; …"),
            ("&amp;lt;", "&lt;"),
            ("&&&amp;", "&&&"),
        ] {
            assert_eq!(decode_references(text), expected, "{text}");
        }
        assert!(matches!(decode_references("plain"), Cow::Borrowed(_)));
        assert_eq!(LATIN.split_ascii_whitespace().count(), 96);
    }
}
