//! Calls in Japanese.

use crate::inbox::addressed::by_name::{NameUse, ends_sentence, first_sentence, list};

/// Endings of a clause that goes on with a noun, such as the name.
const JOINING: &str = "の と は を に や も へ な か た い る だと さすが また うちの が";
/// Endings of what comes before a call, although they look like those, or of a sentence.
const OPENERS: &str = "ちょっと ちょい じゃあ じゃ なら さて よし ほら でも だから ので から というわけで それで \
    ところで ことで ですが ますが だが けど ねえ ねぇ なあ なぁ おい おーい はい あの それなら \
    そうだ あと やあ さあ てか つか ていうか 違う もしもし こんにちは こんばんは では よ ね わ です ます ました ません \
    助かる すまん";
/// Endings of a question that a name may follow.
const ASKED: &str = "思う っけ かな でしょ ますか ですか だろう ろうか のか";
const QUESTION_WORDS: &str = "何 なに なんか どう どれ どこ どっち いつ いくら";
/// What makes the name a part of the sentence.
const PARTICLES: &str = "とか への につい は が を に の も と で って て や へ から まで より なら だ です じゃ \
    だったら といえば みたい っぽい らしい 的 用 側 まかせ 任せ 待ち 経由 次第 頼み 抜き なし \
    以外 くらい ひとつ ほど しか 自体 こそ";
/// Words that begin like a particle.
const NO_PARTICLES: &str = "から揚げ もう もっと もし もちろん とりあえず とりま ところで とにかく はや はよ はじめ 初め \
    やっぱ やば やって にほん では がんば へい へるぷ てか てつだ だれ だめ だから";
/// What is asked of the one who is named before a particle.
const OPINIONS: &str = "どう思 どう見 どう考 どう感じ どうですか どうでしょう どうする どうよ どっち どちら \
    どのように いかが 知ってる 知ってます わかる 分かる わかりま 分かりま 何派 ご存じ ご存知 \
    賛成 反対 お考え 思いま 思う? 覚えて 詳しい 聞いてた 聞いてる 好き 聞いたこと いける? 意見";
/// What is wanted of the one who is named before 「に」 or 「の」.
const WISHES: &str = "問題 確認 感謝 もらっていい クイズ 報告 一言 頼む 頼もう 尋ね 教えてほしい もらおう 命 \
    聞きたい 訊きたい 聞いていい 聞いてもいい 聞くけど 伺いたい お伺い 質問 相談 お願いがある \
    お願いしたい お願いでき お願いします 伺います 聞きます 頼みたい 頼める もらいたい もらえる もらえます \
    もらえません いただけ 頂け 任せたい";
const VIEWS: &str = "意見 考え 見解 感想 おすすめ お勧め 予想 知恵 方で";
/// Endings of a request.
const REQUESTS: &str = "て んで いで くれ くれる くれない くれますか くれませんか くれん ください 下さい もらえる \
    もらえない もらえます もらえますか もらえませんか いただけますか いただけますでしょうか \
    願えますか 願えますでしょうか ほしい 欲しい ちょうだい 頂戴 お願い おねがい お願いします \
    お願いいたします 頼む 頼んだ なさい しろ 言え たまえ よろしく どうぞ いただけると助かります \
    おくれ";
/// What a sentence begins with that is said to the one who is named beside it.
const COURTESIES: &str = "ありがと サンキュ おはよ こんにち こんばん おやすみ お疲れ おつかれ よろしく ごめん すまん \
    助かっ はじめまして 初めまして おかえり ただいま おめでと ヘルプ 助けて";
/// Those of them that may come later: 「相槌さん、昨日はありがとう」.
const THANKS: &str = "ありがと お疲れさ お疲れ様 おめでと";
/// Words that look like a question and ask nothing.
const NO_QUESTIONS: &str = "何でも なんでも 何か なんか 何も いつも いつか どうも どこか どれも";
/// Questions that, on their own, ask whether the named one is there, or for its view.
const PRESENCE: &str = "聞いてる 聞いてた 聞いていますか 聞こえる 聞こえてる 起きてる 起きてますか いる います \
    いますか いらっしゃいますか 元気 生きてる わかる 知ってる 覚えてる 覚えてます 覚えていますか";
/// What is said of a program: 「Aizuchi、なんで落ちてるの？」 asks the others.
const ABOUT_IT: &str =
    "落ち 止ま 動い 動か 壊れ 死ん 重い 遅い 入れ 導入 使っ 使う 打て 打っ バグ 間違え 変なこと";
/// Words that come before that and are no subject.
const ADVERBS: &str =
    "なんで 何で なぜ どうして いつ 今日も 今日 昨日から 最近 また まだ もう 全然 急に よく どう";
/// How a comment ends that asks for nothing.
const COMMENTS: &str = "だよね だな るなあ るなぁ らしい 元気ない って言う";
/// What a question is about, if not about the named one.
const TOPICS: &str = "どう思 どうする 今何 いま何 は って が これ それ あれ この その あの さっき 何時 何日 何曜 \
    いくつ いくら 明日 来週 次 ここ 昨日の 今日の 先週";

pub(super) fn calls(name: NameUse<'_>) -> bool {
    let before = name.before.trim_end();
    let (clause, behind) = (last_clause(before), name.behind);
    if before.ends_with(['「', '『', '"', '“', '#'])
        || behind.starts_with(['」', '』', '"', '”', '('])
    {
        return false;
    }
    // 「相槌さぁ、…」, 「相槌よ、…」
    let mut called = ["さあ", "さぁ", "さ", "よ", "や", "へ", "ってば", "宛てです"].iter();
    let stretched = behind
        .trim_start_matches(['ー', '〜', '~', 'っ', 'ぁ', 'ぃ', 'ぅ', 'ぇ', 'ぉ', 'ァ', 'ィ']);
    let behind = if starts_bare(stretched) { behind } else { stretched };
    let called = called.find_map(|end| behind.strip_prefix(end).filter(|rest| !starts_bare(rest)));
    let behind = called.unwrap_or(behind);
    let body = behind.trim_start_matches(|it: char| is_mark(it));
    let sentence = first_sentence(body);
    let opens = list(OPENERS).any(|end| clause.ends_with(end));
    let is_joined = !opens && list(JOINING).any(|end| clause.ends_with(end));
    let is_called_before = || {
        is_request(clause)
            || is_courtesy(clause)
            || list(ASKED).any(|end| clause.ends_with(end))
            || !clause.ends_with(['の', 'は', 'が', 'と'])
                && list(QUESTION_WORDS).any(|it| clause.contains(it))
    };
    if !starts_bare(behind) {
        let ends = ends_sentence(behind);
        let is_epithet = || {
            is_request(sentence)
                || clause.ends_with(['が', 'い', 'る', 'た', 'か', 'な'])
                    && is_question(sentence)
                    && !is_about_it(sentence)
        };
        let is_apart = clause.is_empty() || opens || !ends && (!is_joined || is_epithet());
        // 「言ったのは、相槌？」 asks whether it was.
        let comma = before.trim_end_matches(is_mark);
        let goes_on = !comma.is_empty()
            && comma.len() < before.len()
            && !list(OPENERS).any(|end| comma.ends_with(end));
        let is_guess = || {
            goes_on && (comma.ends_with('は') || comma.ends_with('の') && !has_question_word(comma))
        };
        // 「Slack、相槌、Jenkinsを使っています」
        let is_listed = || {
            goes_on
                && behind.starts_with('、')
                && !is_question(sentence)
                && !is_courtesy(sentence)
                && !list("どんな どう どれ どこ どっち いつ").any(|word| sentence.contains(word))
        };
        return match is_apart {
            true if ends => !is_guess(),
            true if behind.starts_with(':') => is_request(sentence) || is_question(sentence),
            true => {
                is_request(sentence)
                    || !is_about_it(sentence)
                        && !is_comment(sentence)
                        && !is_list(sentence)
                        && !is_listed()
            }
            false => is_called_before(),
        };
    }
    let particle = list(PARTICLES).filter(|particle| body.starts_with(*particle));
    // After a space, only a Latin name has a particle.
    let particle = particle.filter(|_| !behind.starts_with(' ') || name.is_latin);
    let particle = particle.filter(|_| !list(NO_PARTICLES).any(|word| body.starts_with(word)));
    if let Some(particle) = particle.max_by_key(|particle| particle.len()) {
        return asks_named(particle, &body[particle.len()..]);
    }
    if is_joined {
        // 「この件は相槌どう思う？」
        let is_topic =
            clause.ends_with('は') && !["んは", "なは"].iter().any(|end| clause.ends_with(end));
        return is_topic && is_question(sentence) && !is_about_it(sentence)
            || is_request(sentence)
                && !["の", "を", "と", "誰か"].iter().any(|end| clause.ends_with(end));
    }
    // A space, another script or an honorific sets the name off.
    let is_told = is_about_it(sentence) || is_comment(sentence);
    let is_set_off = behind.starts_with(' ') || name.has_honorific;
    let is_asked = is_question(sentence)
        && (is_set_off || list(TOPICS).any(|topic| sentence.contains(topic)))
        || is_set_off && has_question_word(sentence) && !sentence.ends_with(['す', 'た']);
    let is_thanked = || {
        is_set_off
            && list(THANKS).any(|word| sentence.contains(word))
            && !["って", "てくれ"].iter().any(|word| sentence.contains(word))
    };
    is_request(sentence) || is_courtesy(sentence) || is_asked && !is_told || is_thanked()
}

/// Whether the one who is named before a particle is asked: 「相槌はどう思う？」.
fn asks_named(particle: &str, rest: &str) -> bool {
    let rest = rest.trim_start();
    let sentence = first_sentence(rest);
    let contains = |words: &'static str| list(words).any(|word| sentence.contains(word));
    let is_told = sentence.contains("って言")
        || list("かな かも らしい").any(|end| plain_end(sentence).ends_with(end));
    let is_asked = || {
        (is_question(sentence) || plain_end(sentence).ends_with("よね")) && contains(OPINIONS)
            || sentence.starts_with('?')
    };
    let begins = |words: &'static str| list(words).any(|word| sentence.starts_with(word));
    !is_told
        && match particle {
            "なら" | "だったら" if is_question(sentence) && sentence.contains('何') => true,
            "は" | "なら" | "だったら" | "とか" | "的" => {
                is_asked() || sentence.contains("どう?") || sentence.ends_with("どう")
            }
            "も" => {
                is_question(sentence) && !is_about_it(sentence)
                    || is_request(sentence)
                    || is_courtesy(sentence)
            }
            "に" => {
                let is_past = contains("聞いた 聞いてみた 頼んだ 聞いて 聞けば 頼んで");
                contains(WISHES)
                    || !is_past
                        && contains("聞 訊 頼 お願い")
                        && (is_request(&rest[sentence.len()..])
                            || rest[sentence.len()..].contains('?'))
            }
            "の" => {
                begins("番 出番") && sentence.chars().count() < 6
                    || begins(VIEWS)
                        && (sentence.contains('?')
                            || is_request(sentence)
                            || contains("聞きたい 聞かせ 借り"))
            }
            "が" => {
                is_request(sentence)
                    && plain_end(sentence).ends_with('て')
                    && !contains("くれ もら 言って てて")
            }
            "から" => contains("見て 一言"),
            "への" => begins("質問 お願い 依頼"),
            _ => false,
        }
}

/// Whether a letter follows, at most after a space.
fn starts_bare(behind: &str) -> bool {
    behind.trim_start_matches([' ', '　']).starts_with(char::is_alphanumeric)
        && !behind.starts_with('ー')
}

/// Whether a sentence ends as a request does, or only asks whether the reader is there.
pub(super) fn is_request(sentence: &str) -> bool {
    let end = plain_end(sentence);
    let plain = end.trim_end_matches(['ね', 'よ', 'な']);
    list(REQUESTS).any(|ending| plain.ends_with(ending)) && !plain.ends_with("てて")
        || list(PRESENCE).any(|word| word == last_clause(end)) && is_question(sentence)
        || sentence.split(|it| is_mark(it) && it != '、').any(|clause| {
            list(REQUESTS).any(|ending| clause.ends_with(ending)) && !clause.ends_with("てて")
        })
}

fn is_courtesy(sentence: &str) -> bool {
    list(COURTESIES).any(|word| sentence.starts_with(word))
}

/// Whether a sentence says or asks something about a program, and has no subject of its own.
fn is_about_it(sentence: &str) -> bool {
    let mut rest = sentence;
    while let Some(shorter) = list(ADVERBS).find_map(|adverb| rest.strip_prefix(adverb)) {
        rest = shorter.trim_start_matches(is_mark);
    }
    list(ABOUT_IT).any(|word| rest.starts_with(word))
}

/// Whether a sentence only comments: 「便利だよね」.
fn is_comment(sentence: &str) -> bool {
    let end = plain_end(sentence).trim_end_matches(['笑', 'w', '草']);
    let has_topic = ["これ", "それ", "この", "その"].iter().any(|topic| sentence.contains(topic));
    !is_question(sentence) && !has_topic && list(COMMENTS).any(|word| end.ends_with(word))
}

/// Whether a sentence goes on with other nouns: 「相槌、うなずき、…」.
fn is_list(sentence: &str) -> bool {
    let (item, rest) = sentence.split_once('、').unwrap_or_default();
    !rest.is_empty() && item.chars().count() <= 5 && !is_courtesy(item) && !is_question(sentence)
}

fn has_question_word(sentence: &str) -> bool {
    list(QUESTION_WORDS).any(|word| sentence.contains(word))
        && !list(NO_QUESTIONS).any(|word| sentence.contains(word))
}

fn is_question(sentence: &str) -> bool {
    let end = plain_end(sentence);
    sentence.contains('?')
        || ["か", "っけ", "かね", "知らん", "何時", "なんで"].iter().any(|word| end.ends_with(word))
}

fn last_clause(text: &str) -> &str {
    text.rsplit(is_mark).next().unwrap_or_default()
}

fn plain_end(sentence: &str) -> &str {
    sentence.trim_end_matches(|character: char| is_mark(character) || character == 'ー')
}

fn is_mark(character: char) -> bool {
    !character.is_alphanumeric()
}
