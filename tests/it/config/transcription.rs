//! The model that transcribes recordings.

use aizuchi_config::Config;

use crate::config::environment;

/// Recordings are not transcribed unless the config names a model for it: they may be private, and a text model cannot
/// hear.
#[test]
fn only_a_model_of_its_own_hears_recordings() {
    let keys = environment(&[("OPENAI_API_KEY", "o"), ("GROQ_API_KEY", "g")], "");
    let read = |text: &str| Config::read(text, "config.yaml", &keys);
    let hears = |text: &str| {
        let minds = read(text).unwrap().config.minds;
        minds.transcription.map(|mind| mind.model.id.to_string())
    };
    let one = "agents:\n  response:\n    model_id: openai/gpt-4o\n";
    assert_eq!(hears(one), None);
    let whisper = "  transcription:\n    model_id: groq/whisper-large-v3\n";
    let expected = Some("groq/whisper-large-v3".to_owned());
    assert_eq!(hears(&format!("{one}{whisper}")), expected);
    assert_eq!(hears(&format!("agents:\n{whisper}")), expected);
    for unfit in [
        "  transcription: {}\n",
        "  transcription:\n    model_id: builtin\n",
        "  transcription:\n    model_id: anthropic/claude-haiku-4-5\n",
        "  transcription:\n    model_id: openai/whisper-1\n    fallback: {model_id: builtin}\n",
    ] {
        let error = format!("{:#}", read(&format!("{one}{unfit}")).unwrap_err());
        assert!(error.contains("agents.transcription needs a model_id"), "{unfit}: {error}");
    }
    let no_key = "  transcription:\n    model_id: mistral/voxtral-mini-latest\n";
    let error = format!("{:#}", read(&format!("{one}{no_key}")).unwrap_err());
    assert!(error.contains("agents.transcription.client_args.api_key"), "{error}");
}

#[test]
fn a_price_by_the_minute_is_one_by_the_token() {
    let text = "models:\n  minute_prices: {groq/whisper-large-v3: 0.06, openai/whisper-1: 0.6}\n";
    let config = Config::read(text, "config.yaml", &environment(&[], "")).unwrap().config;
    let input = |model: &str| config.prices().0[model].input;
    assert!((input("groq/whisper-large-v3") - 100.0).abs() < 1e-9);
    assert!((input("openai/whisper-1") - 1_000.0).abs() < 1e-9);
}
