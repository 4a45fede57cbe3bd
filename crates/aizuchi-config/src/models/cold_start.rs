//! The timeout of a call whose server may have to load the model first. Servers on this machine load a model on demand
//! and unload it after a while.

use std::net::IpAddr;

use aizuchi_llm::provider_list::Provider;

/// How long loading takes depends on the disk.
pub const COLD_TIMEOUT_SECONDS: f64 = 300.0;

/// Returns `usual`, or the longer cold timeout if the server may have to load the model.
pub fn cold_timeout_seconds(provider: Provider, base: &str, usual: f64) -> f64 {
    // LM Studio, llama.cpp and others that are compatible with OpenAI.
    let is_own_server = provider == Provider::OpenAi && is_on_this_machine(base);
    match provider == Provider::Ollama || is_own_server {
        true => usual.max(COLD_TIMEOUT_SECONDS),
        false => usual,
    }
}

/// Whether the host of a URL is this machine, judging by its name alone.
fn is_on_this_machine(base: &str) -> bool {
    let Some((_, rest)) = base.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next(),
        None => authority.split(':').next(),
    };
    let host = host.unwrap_or_default();
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_this_machine_may_have_to_load_the_model() {
        for (provider, base, expected) in [
            (Provider::Ollama, "http://10.0.0.7:11434/v1/", 300.0),
            (Provider::OpenAi, "http://localhost:1234/v1/", 300.0),
            (Provider::OpenAi, "http://LOCALHOST/v1/", 300.0),
            (Provider::OpenAi, "http://127.0.0.1:8080/v1/", 300.0),
            (Provider::OpenAi, "http://127.1.2.3/", 300.0),
            (Provider::OpenAi, "http://[::1]:8080/v1/", 300.0),
            (Provider::OpenAi, "http://[::ffff:127.0.0.1]/v1/", 300.0),
            (Provider::OpenAi, "https://api.openai.com/v1/", 60.0),
            (Provider::OpenAi, "http://localhost.example:1234/v1/", 60.0),
            (Provider::OpenAi, "http://127.0.0.1.example/v1/", 60.0),
            (Provider::OpenAi, "http://10.0.0.7:1234/v1/", 60.0),
            (Provider::OpenAi, "http://elsewhere/localhost", 60.0),
            (Provider::OpenAi, "localhost", 60.0),
            (Provider::Anthropic, "http://localhost:4000/v1/", 60.0),
        ] {
            assert_eq!(cold_timeout_seconds(provider, base, 60.0), expected, "{base}");
        }
        assert_eq!(cold_timeout_seconds(Provider::Ollama, "", 500.0), 500.0);
    }
}
