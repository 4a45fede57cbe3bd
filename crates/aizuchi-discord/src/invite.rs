//! The link that an admin uses to invite the bot to a server.

use crate::permissions::invite_permissions;

/// Returns the invite link, with the scopes for the bot and its slash command.
pub fn invite_url(application: u64) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands&permissions={}",
        invite_permissions().bits()
    )
}

/// Returns the URL of the application's page with the token and the intents.
pub fn bot_page_url(application: u64) -> String {
    format!("https://discord.com/developers/applications/{application}/bot")
}

/// Returns the application of a token. The token's first part is the bot's id, which equals the application's id for
/// every application created since 2016.
pub fn application_id(token: &str) -> Option<u64> {
    let first = token.split('.').next()?;
    let id = String::from_utf8(decode_base64(first)?).ok()?;
    // A token that was copied only in part may still have a readable id.
    let is_whole = token.split('.').count() == 3;
    id.parse().ok().filter(|_| is_whole)
}

/// Decodes Base64, ignoring padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = (bits << 6 | u32::try_from(value).ok()?) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invite_requests_exactly_the_required_permissions() {
        let expected = "https://discord.com/oauth2/authorize?client_id=42&\
                        scope=bot+applications.commands&permissions=309237713984";
        assert_eq!(invite_url(42), expected);
    }

    #[test]
    fn a_token_holds_its_application_id() {
        for (token, expected) in [
            ("MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.x-y_z", Some(123_456_789_012_345_678)),
            ("MTIzNDU2Nzg5MDEyMzQ1Njc4", None),
            ("not a token", None),
            ("!!.a.b", None),
            ("", None),
        ] {
            assert_eq!(application_id(token), expected, "{token}");
        }
    }
}
