//! Problems of models, which model runs here, and how it is used.

use crate::decision::model_problem::ModelProblem;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    /// `problem` is [`problem`].
    problem_of(model: &str, problem: &str): "{model}: {problem}" / "{model}: {problem}";
    at(model: &str, address: &str): "{model} at {address}" / "{model}（{address}）";
    server_answers(server: &str, model: &str):
        "{server} is running here with {model}." / "このマシンで {server} が動いていて、{model} を使えます。";
    server_has_no_model(server: &str):
        "{server} is running here, but has no model that writes text."
        / "このマシンで {server} が動いていますが、文章を生成できるモデルがありません。";
    key_is_set(variable: &str):
        "{variable} is set, but no model is chosen."
        / "{variable} は設定されていますが、モデルが選ばれていません。";
    use_it(command: &str): "To use it: {command}" / "使うには：{command}";
    use_one(command: &str): "Use a model, for example: {command}" / "モデルを使うには（例）：{command}";

    // Why a model cannot be chosen on the page.
    choice_needs_this_machine:
        "You can choose a model only on the page, opened directly on the machine that runs Aizuchi: not through a proxy, and not by another program."
        / "モデルは、Aizuchi が動いているマシンで直接開いたページから選んでください。プロキシやほかのプログラムからは選べません。";
    named_by_config:
        "The models are set in the config file. Change them there."
        / "モデルは設定ファイルで指定されています。設定ファイルで変更してください。";
    named_by_flag:
        "Aizuchi was started with --model. To choose here, restart it without that option."
        / "Aizuchi は --model 付きで起動されています。ここで選ぶには、付けずに起動してください。";
    named_by_variable(variable: &str):
        "The environment variable {variable} was set when Aizuchi was started, and it overrides what is chosen here. To choose here, unset it and restart Aizuchi."
        / "環境変数 {variable} を設定した状態で起動しているため、その指定がここでの選択より優先されます。ここで選ぶには、設定を外して起動し直してください。";
    malformed_key:
        "That is not a valid key: it must be one line without spaces."
        / "キーの形式が正しくありません。空白を含まない 1 行で入力してください。";
    key_needed(provider: &str): "{provider} needs a key." / "{provider} にはキーが必要です。";
    model_needed: "Enter the model’s name." / "モデル名を入力してください。";
    models_there(names: &str):
        "Enter the model’s name. The server has: {names}." / "モデル名を入力してください。このサーバーにあるモデル：{names}";
    answers_at(address: &str):
        " It answers at {address}: use that address." / "{address} では応答します。このアドレスを使ってください。";
    malformed_model:
        "That is not a valid model name: it must be one word."
        / "モデル名の形式が正しくありません。空白を含めずに入力してください。";
    malformed_address:
        "That is not a valid address: it must begin with http:// or https:// and have no spaces and no @."
        / "アドレスの形式が正しくありません。http:// または https:// で始め、空白や @ を含めずに入力してください。";
    not_found_here: "That model is no longer available here." / "そのモデルはもうここにはありません。";
    not_saved(why: &str):
        "The choice could not be saved: {why}" / "選択を保存できませんでした：{why}";
    try_failed(model: &str, problem: &str):
        "{model} did not answer: {problem}. Nothing was changed."
        / "{model} を試しましたが、応答がありませんでした（{problem}）。設定は変えていません。";
    try_failed_unusably(model: &str):
        "{model} answered, but in a way that Aizuchi can’t use. Nothing was changed."
        / "{model} は応答しましたが、Aizuchi では使えない内容でした。設定は変えていません。";
}

/// What keeps the program from using a model, as the end of a sentence.
pub fn problem(language: Language, problem: ModelProblem) -> &'static str {
    match problem {
        ModelProblem::Unreachable => {
            pick(language, "the model cannot be reached", "モデルに接続できません")
        }
        ModelProblem::TimedOut => {
            pick(language, "the model did not answer in time", "モデルが時間内に答えませんでした")
        }
        ModelProblem::KeyRefused => {
            pick(language, "the model refused the key", "モデルが API キーを受け付けませんでした")
        }
        ModelProblem::UnknownModel => {
            pick(language, "there is no model with that name", "その名前のモデルが見つかりません")
        }
        ModelProblem::NoFunds => {
            pick(language, "the account has no credit left", "アカウントの利用残高がありません")
        }
        ModelProblem::Overloaded => pick(
            language,
            "the model is overloaded, or a rate limit was reached",
            "モデルが混雑しているか、利用回数の制限に達しています",
        ),
        ModelProblem::ServerFailed => pick(
            language,
            "the model’s server reports an error of its own",
            "モデルのサーバーでエラーが起きています",
        ),
        ModelProblem::RequestRejected => pick(
            language,
            "the model does not accept requests with these settings",
            "モデルが現在の設定でのリクエストを受け付けません",
        ),
        ModelProblem::Garbled => pick(
            language,
            "the model’s answer could not be read",
            "モデルの答えを読み取れませんでした",
        ),
    }
}
