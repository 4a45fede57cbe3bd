//! The providers of models, and where the API of each is.

/// Declares the providers, in the order in which an error lists them: the wire format, the variable of the API key, the
/// default base URL, the variables of the base URL, and those of the account's place.
macro_rules! providers {
    ($($(#[$doc:meta])* $provider:ident: $format:ident, $key:expr, $base:expr, $bases:expr, $places:expr;)*) => {
        /// The provider of a model. Any other server with an OpenAI-compatible API is `OpenAi` with a custom base URL.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
        #[strum(serialize_all = "lowercase")]
        pub enum Provider {
            $($(#[$doc])* $provider,)*
        }

        pub const PROVIDERS: [Provider; [$(stringify!($provider)),*].len()] = [$(Provider::$provider),*];

        impl Provider {
            pub fn wire_format(self) -> WireFormat {
                match self { $(Provider::$provider => WireFormat::$format,)* }
            }

            /// The environment variable that holds the API key, if the provider needs one.
            pub fn key_variable(self) -> Option<&'static str> {
                match self { $(Provider::$provider => $key,)* }
            }

            /// The default base URL of the API, with a trailing slash, unless `client_args.api_base` overrides it.
            /// `None` if it differs per account: see [`Self::place_variables`].
            pub fn default_api_base(self) -> Option<&'static str> {
                match self { $(Provider::$provider => $base,)* }
            }

            /// The environment variables from which other clients of the provider read the base URL, with the path
            /// that they add to it. The first one that is set wins.
            pub fn base_variables(self) -> &'static [(&'static str, &'static str)] {
                match self { $(Provider::$provider => &$bases,)* }
            }

            /// The environment variables that locate an account's API. The first one that is set wins.
            pub fn place_variables(self) -> &'static [&'static str] {
                match self { $(Provider::$provider => &$places,)* }
            }
        }
    };
}

providers! {
    OpenAi: OpenAi, Some("OPENAI_API_KEY"), Some("https://api.openai.com/v1/"),
        [("OPENAI_BASE_URL", ""), ("OPENAI_API_BASE", "")], [];
    Anthropic: Anthropic, Some("ANTHROPIC_API_KEY"), Some("https://api.anthropic.com/v1/"),
        [("ANTHROPIC_BASE_URL", "v1/"), ("ANTHROPIC_API_BASE", "v1/")], [];
    Gemini: Gemini, Some("GEMINI_API_KEY"), Some("https://generativelanguage.googleapis.com/v1beta/"),
        [("GOOGLE_GEMINI_BASE_URL", "v1beta/"), ("GEMINI_API_BASE", "v1beta/")], [];
    Ollama: OpenAi, None, Some("http://localhost:11434/v1/"),
        [("OLLAMA_HOST", "v1/"), ("OLLAMA_API_BASE", "v1/")], [];
    OpenRouter: OpenAi, Some("OPENROUTER_API_KEY"), Some("https://openrouter.ai/api/v1/"),
        [("OPENROUTER_BASE_URL", ""), ("OPENROUTER_API_BASE", "")], [];
    DeepSeek: OpenAi, Some("DEEPSEEK_API_KEY"), Some("https://api.deepseek.com/v1/"),
        [("DEEPSEEK_BASE_URL", ""), ("DEEPSEEK_API_BASE", "")], [];
    Groq: OpenAi, Some("GROQ_API_KEY"), Some("https://api.groq.com/openai/v1/"),
        [("GROQ_BASE_URL", "openai/v1/"), ("GROQ_API_BASE", "")], [];
    Mistral: OpenAi, Some("MISTRAL_API_KEY"), Some("https://api.mistral.ai/v1/"),
        [("MISTRAL_BASE_URL", "v1/"), ("MISTRAL_API_BASE", "")], [];
    Xai: OpenAi, Some("XAI_API_KEY"), Some("https://api.x.ai/v1/"), [("XAI_BASE_URL", ""), ("XAI_API_BASE", "")], [];
    /// Google's models on Vertex AI, with an API key.
    // The address is that for API keys only. Addresses of projects are below it.
    Vertex: Gemini, Some("VERTEX_API_KEY"), Some("https://aiplatform.googleapis.com/v1/publishers/google/"),
        [("GOOGLE_VERTEX_BASE_URL", "v1/publishers/google/")], [];
    /// Azure OpenAI. The name of a model is that of its deployment.
    // Its clients read the variable of the account's place.
    Azure: OpenAi, Some("AZURE_OPENAI_API_KEY"), None, [], ["AZURE_OPENAI_ENDPOINT"];
    /// Models on Amazon Bedrock that have an OpenAI-compatible API.
    Bedrock: OpenAi, Some("AWS_BEARER_TOKEN_BEDROCK"), None,
        [("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "openai/v1/")], ["AWS_REGION", "AWS_DEFAULT_REGION"];
}

/// The wire format of a provider's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Provider {
    /// The part before the slash.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The base URL that a variable names. `None` if it is not an address. Ollama's may be only a host or a port.
    pub fn base_in_variable(self, value: &str, path: &str) -> Option<String> {
        let value = value.trim().trim_end_matches('/');
        let value = match self {
            Provider::Ollama if !value.contains("://") => {
                let (host, port) = split_ollama_host(value);
                // A server that listens on all interfaces listens on this machine.
                let is_any = matches!(host, "" | "0.0.0.0" | "[::]");
                format!("http://{}:{port}", if is_any { "localhost" } else { host })
            }
            _ => value.to_owned(),
        };
        let has_host = ["http://", "https://"].iter().any(|scheme| {
            value.strip_prefix(scheme).is_some_and(|place| {
                !place.is_empty() && !place.starts_with('/') && !place.contains(char::is_whitespace)
            })
        });
        let base = format!("{value}/");
        has_host.then(|| if base.ends_with(&format!("/{path}")) { base } else { base + path })
    }

    /// The base URL of an account's API for a value of [`Self::place_variables`]. `None` if the value is invalid.
    pub fn api_base_at(self, place: &str) -> Option<String> {
        let place = place.trim().trim_end_matches('/');
        if self == Provider::Azure {
            let is_address = place.starts_with("https://");
            return is_address.then(|| self.complete_api_base(&format!("{place}/")));
        }
        let is_region = self == Provider::Bedrock && is_region(place);
        is_region.then(|| format!("https://bedrock-runtime.{place}.amazonaws.com/openai/v1/"))
    }

    /// Completes a base URL, which ends with a slash. Azure's console shows only the address of the resource.
    pub fn complete_api_base(self, base: &str) -> String {
        let is_bare = base.split_once("://").is_some_and(|(_, place)| {
            place.split_once('/').is_some_and(|(_, path)| path.is_empty())
        });
        let is_resource = self == Provider::Azure && is_bare;
        if is_resource { format!("{base}openai/v1/") } else { base.to_owned() }
    }

    /// Whether a base URL belongs to the provider, so that its key may be sent there.
    pub fn owns(self, base: &str) -> bool {
        let host = base.strip_prefix("https://").and_then(|rest| rest.split('/').next());
        // Excludes user info and ports, behind which another host could hide.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let host = host.filter(|host| host.bytes().all(is_plain)).unwrap_or_default();
        let is_in = |domains: &[&str]| domains.iter().any(|domain| host.ends_with(domain));
        match self {
            Provider::Azure => is_in(&[
                ".openai.azure.com",
                ".cognitiveservices.azure.com",
                ".services.ai.azure.com",
            ]),
            Provider::Bedrock => {
                let of_runtime = host.strip_prefix("bedrock-runtime.");
                let of_mantle = host.strip_prefix("bedrock-mantle.");
                let region = of_runtime
                    .and_then(|rest| rest.strip_suffix(".amazonaws.com"))
                    .or(of_mantle.and_then(|rest| rest.strip_suffix(".api.aws")));
                region.is_some_and(is_region)
            }
            Provider::Vertex => is_in(&["aiplatform.googleapis.com"]),
            Provider::OpenAi
            | Provider::Anthropic
            | Provider::Gemini
            | Provider::Ollama
            | Provider::OpenRouter
            | Provider::DeepSeek
            | Provider::Groq
            | Provider::Mistral
            | Provider::Xai => self.default_api_base() == Some(base),
        }
    }
}

/// Splits the host from the port in the value of `OLLAMA_HOST`.
pub fn split_ollama_host(value: &str) -> (&str, &str) {
    // An IPv6 address has colons in brackets.
    let split = value.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
    split.unwrap_or((value, "11434"))
}

/// Whether this can be the name of an AWS region.
fn is_region(place: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !place.is_empty() && place.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_an_address_of_its_own() {
        let azure = Some("https://tea.openai.azure.com/openai/v1/");
        for (provider, place, expected) in [
            (Provider::Azure, "https://tea.openai.azure.com", azure),
            (Provider::Azure, " https://tea.openai.azure.com/ ", azure),
            (Provider::Azure, "https://tea.openai.azure.com/openai/v1", azure),
            (Provider::Azure, "http://tea.openai.azure.com", None),
            (Provider::Azure, "tea", None),
            (
                Provider::Bedrock,
                "eu-central-1",
                Some("https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1/"),
            ),
            (Provider::Bedrock, "evil.example/", None),
            (Provider::Bedrock, "", None),
            (Provider::OpenAi, "eu", None),
        ] {
            let base = provider.api_base_at(place);
            assert_eq!(base.as_deref(), expected, "{provider:?} {place}");
            assert!(base.is_none_or(|base| provider.owns(&base)), "{place}");
        }
    }

    #[test]
    fn a_variable_names_an_address_as_other_clients_read_it() {
        for (provider, number, value, expected) in [
            (Provider::OpenAi, 0, "https://gate.example/v1", Some("https://gate.example/v1/")),
            (Provider::OpenAi, 1, "http://gate.example", Some("http://gate.example/")),
            (Provider::OpenAi, 0, "gate.example/v1", None),
            (Provider::OpenAi, 0, "https://", None),
            (Provider::Anthropic, 0, "https://gate.example/a", Some("https://gate.example/a/v1/")),
            (Provider::Anthropic, 0, "https://gate.example/v1/", Some("https://gate.example/v1/")),
            (Provider::Ollama, 0, "192.0.2.7", Some("http://192.0.2.7:11434/v1/")),
            (Provider::Ollama, 0, "0.0.0.0:5000", Some("http://localhost:5000/v1/")),
            (Provider::Ollama, 0, "[::]", Some("http://localhost:11434/v1/")),
            (Provider::Ollama, 0, "[::1]", Some("http://[::1]:11434/v1/")),
            (Provider::Ollama, 0, "[::1]:1234", Some("http://[::1]:1234/v1/")),
            (Provider::Ollama, 0, ":5000", Some("http://localhost:5000/v1/")),
            (Provider::Ollama, 0, "https://models.example", Some("https://models.example/v1/")),
        ] {
            let (_, path) = provider.base_variables()[number];
            let base = provider.base_in_variable(value, path);
            assert_eq!(base.as_deref(), expected, "{provider:?} {value}");
        }
    }

    #[test]
    fn a_key_is_sent_to_its_provider_only() {
        for (provider, base, expected) in [
            (Provider::OpenAi, "https://api.openai.com/v1/", true),
            (Provider::OpenAi, "https://tea.openai.azure.com/openai/v1/", false),
            (Provider::Azure, "https://tea.services.ai.azure.com/openai/v1/", true),
            (Provider::Azure, "http://tea.openai.azure.com/openai/v1/", false),
            (Provider::Azure, "https://evil.example/.openai.azure.com/", false),
            (Provider::Azure, "https://x@evil.example:1.openai.azure.com/", false),
            (Provider::Bedrock, "https://bedrock-mantle.us-east-1.api.aws/v1/", true),
            (Provider::Bedrock, "https://bedrock-runtime.s3.us-east-1.amazonaws.com/v1/", false),
            (Provider::Bedrock, "https://tea.us-east-1.elb.amazonaws.com/v1/", false),
            (Provider::Vertex, "https://eu-aiplatform.googleapis.com/v1/projects/tea/", true),
        ] {
            assert_eq!(provider.owns(base), expected, "{provider:?} {base}");
        }
    }
}
