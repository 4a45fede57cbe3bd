//! Calls in English.

use crate::inbox::addressed::by_name::{NameUse, ends_sentence, first_sentence, is_in, words};

/// Words that say nothing themselves, before a call.
const OPENERS: &str = "hey hi hello yo ok okay oh ah aw um uh hm hmm so well and but or now then wait right exactly haha back \
    hah lol anyway also alright actually sure nah no yes yeah yep great nice cool wow there all everyone everybody team \
    folks guys again sorry please pls plz dear good morning mornin afternoon evening night goodnight thanks thank thx ty \
    cheers you so much very a lot many bye goodbye see later welcome well done job bot one come on maybe perhaps quick \
    question meanwhile finally seriously true fair point agreed help what's up wake listen look knock excuse me ahem psst \
    my paging calling summoning earth million ton bunch happy birthday anniversary congrats \
    congratulations";
/// Those of them that are said to somebody.
const HAILS: &str = "hey hi hello yo please pls plz dear morning mornin afternoon evening night goodnight thanks thank \
    thx ty cheers sorry bye goodbye welcome";
/// Words after which a sentence may end, so that a name behind them is not a part of it.
const LAST_WORDS: &str = "you u think say do mean please pls plz here there now today tomorrow tonight me us out him \
    them then too again ok okay morning afternoon evening night goodnight much lot idea ideas thoughts turn everyone \
    everybody already yet friend buddy job bot one done luck thanks thx ty cheers hello hey hi bye sorry welcome yo so \
    right agree help back take";
/// Words that need another one behind them, such as a name: "did you ask Aizuchi?".
const TAKERS: &str = "stop a an the this that these my our your his her their its of to for with by from about at in on into \
    over than like as and or vs not no even just only also both either is are was were be been being isn't wasn't i'm \
    it's that's who's what's called named via without against between through per ask asks asked asking tell tells told \
    use uses used using try tried trying install installed add added invite invited remove removed mute muted unmute kick \
    kicked ban banned call calls love loves like likes hate hates prefer prefers trust trusts blame blames thank ping \
    pinged tag tagged mention mentioned meet met see sees seen saw know knows need needs want wants have has had get gets \
    got getting make makes made run runs running host hosts follow follows join bother build built write wrote quote \
    quoted beat beats heard hear believe replace replaced restart restarted fix fixed break broke test tested train \
    trained set up configure enable disable on off give gave let poke buy bought pay read reads switch under behind miss";
/// Verbs that have the name as their subject, or are said to it if they come before "you".
const AUXILIARIES: &str = "is are was were do does did can could should will would has have had may might must r isn't \
    aren't wasn't doesn't didn't can't couldn't won't wouldn't shouldn't hasn't haven't ain't";
const PRONOUNS: &str =
    "you u ya i we there it this that he she they someone anyone anybody somebody everyone";
/// Those of them that do something.
const PEOPLE: &str = "i we he she they someone anyone anybody somebody everyone";
const DETERMINERS: &str = "the a an my our your his her their any these those";
/// Other words of which it is the subject.
const PREDICATES: &str = "said says knew got gets went goes thought seems looks just always never already still only \
    really probably apparently kept told wrote made came gave took taught sent found lost cost beat saw left brought \
    bought forgot broke hurt caught hit put did";
const QUESTION_WORDS: &str = "what when where who which why how whats wheres whens whos hows what's where's when's who's \
    how's why's";
const IMPERATIVES: &str = "tell help remind explain summarize summarise recap give show find write translate remember \
    search answer say repeat recommend suggest list make draft check look settle decide compare convert calculate \
    describe define rewrite shorten pick choose send post add read put let count correct fix do stop ignore be go come \
    wake don't dont never keep take get turn shut";
/// Those of them that are no nouns.
const PURE_IMPERATIVES: &str = "explain summarize summarise translate recommend suggest compare convert calculate \
    describe define hush don't dont be";
/// Words that go on with an imperative, rather than with a noun that it is a part of: "translate this".
const OBJECTS: &str = "me us my our your this these the a an what how why when where which who whether out up to it him \
    her them everybody ahead on quiet";
/// What is put to one: "a quick question for Aizuchi".
const MATTERS: &str = "one more another two this question questions job task puzzle riddle challenge request homework work";
/// What it may be asked to do in the third person: "could Aizuchi pull up the list?".
const ERRANDS: &str = "tell help remind explain summarize summarise recap give show find write translate repeat list \
    draft check look settle decide compare convert calculate describe rewrite pick choose pull fetch";
/// Words for what it is, which its name may follow: "our bot, Aizuchi".
const KINDS: &str = "bot app tool ai assistant companion helper program called named";

pub(super) fn calls(name: NameUse<'_>) -> bool {
    let before = name.before.trim_end_matches([' ', '*']);
    let behind = name.behind.trim_start_matches([' ', '*']);
    let opens_all = words(before).all(|word| is_in(OPENERS, word));
    let clause = before.rsplit([',', ';', '–', '—']).next().unwrap_or_default();
    let opens = opens_all
        || words(clause).all(|word| is_in(OPENERS, word) && !is_in("and or so but then", word))
            && words(clause).next().is_some();
    let hails = opens && words(before).any(|word| is_in(HAILS, word));
    let last = words(before).next_back().unwrap_or_default();
    let mark = before.chars().next_back().filter(|mark| !mark.is_alphanumeric());
    // "The listener (Aizuchi) is muted"
    let is_aside = mark == Some('(') && name.behind.starts_with(')');
    if is_aside || mark.is_some_and(|mark| "\"“‘'/#=+&<>「".contains(mark)) {
        return false;
    }
    let is_apart = opens || mark.is_some() || last == "you" || before == "earth to";
    let is_kind = is_in(KINDS, last) && !opens;
    if is_asked_for_view(before, behind)
        || is_handed_over(before, name.behind)
        || is_given_errand(before, behind)
    {
        return true;
    }
    let body = behind.trim_start_matches(|it: char| !it.is_alphanumeric());
    let sentence = first_sentence(body);
    // "what do you think Aizuchi?"
    let is_behind_sentence = || {
        is_in(LAST_WORDS, last) || asks(before) && !is_in(TAKERS, last) && !ends_with_verb(before)
    };
    if ends_sentence(name.behind) {
        let mut parts = before.split(',').rev();
        let is_listed = before.matches(',').count() > 1
            && parts.nth(1).is_some_and(|part| words(part).count() <= 1);
        // "Aizuchi? Never heard of it."
        let is_doubted = before.is_empty() && behind.starts_with('?') && speaks_of_it(body);
        return match is_apart {
            true => !is_doubted && (opens || mark != Some(':') && !is_kind && !is_listed),
            false => is_behind_sentence(),
        };
    }
    match behind.chars().next().filter(|next| !next.is_alphanumeric()) {
        Some('"' | '”' | '\'' | '/' | '&' | '=' | '+' | '>' | '(') => false,
        // A heading, or a thought about it.
        Some(':' | '…' | '.') => is_apart && is_put_to_reader(sentence),
        Some(_) if mark == Some(':') => is_put_to_reader(sentence),
        Some(_) if is_apart => !is_kind && !is_said_of_it(sentence) && !is_list(sentence),
        Some(_) => is_behind_sentence(),
        // "my question to you Aizuchi is this"
        None if before.ends_with("to you") && is_in(AUXILIARIES, first(sentence)) => true,
        None if hails => {
            let sentence = sentence.strip_prefix("just ").unwrap_or(sentence);
            !begins_predicate(sentence)
                && !is_finite(first(sentence))
                && words(sentence).count() > 1
        }
        None => is_apart && is_request(sentence),
    }
}

/// "what does Aizuchi think?"
fn is_asked_for_view(before: &str, behind: &str) -> bool {
    let asked = ["what does", "what would", "how does", "how would", "what do", "what'd"];
    asked.iter().any(|words| before.ends_with(words))
        && is_in("think say suggest recommend reckon feel make", first(behind))
}

/// "one more for Aizuchi:", "over to Aizuchi"
fn is_handed_over(before: &str, behind: &str) -> bool {
    let mut all = words(before).rev();
    let (last, thing) = (all.next().unwrap_or_default(), all.next().unwrap_or_default());
    let behind = behind.trim_start();
    let is_given = match last {
        "for" => is_in(MATTERS, thing),
        "to" => is_in("over question questions", thing) && words(before).count() == 2,
        _ => false,
    };
    let ends = ends_sentence(behind) || behind.starts_with([':', ',', ';', '-', '–', '—', '(']);
    let goes_on = is_in("which who that whose", first(behind));
    is_given && ends && !goes_on && words(before).count() <= 8
}

/// "let Aizuchi pick", "could Aizuchi give us a summary"
fn is_given_errand(before: &str, behind: &str) -> bool {
    let clause = before.rsplit([',', ':', ';', '–', '—']).next().unwrap_or_default();
    let mut asked = words(clause).skip_while(|word| is_in(OPENERS, word));
    let (verb, rest) = (asked.next().unwrap_or_default(), asked.next());
    let mut order = words(behind);
    let (what, whom) = (order.next().unwrap_or_default(), order.next().unwrap_or_default());
    rest.is_none()
        && match verb {
            "let" | "have" => is_in(IMPERATIVES, what) && !is_in("know be do go get come", what),
            "can" | "could" | "will" => is_in(ERRANDS, what) && is_in(OBJECTS, whom),
            _ => false,
        }
}

/// Whether a sentence is a question or a request.
fn asks(sentence: &str) -> bool {
    let mut pairs = words(sentence).zip(words(sentence).skip(1));
    pairs.any(|(one, two)| is_in(AUXILIARIES, one) && is_in("i we you u it anything anyone", two))
        || is_in(QUESTION_WORDS, first(sentence))
        || is_in(AUXILIARIES, first(sentence))
        || is_in("any anything anyone", first(sentence))
        || is_in(IMPERATIVES, first(sentence))
}

/// Whether the last word of a question is a verb, whose object a name behind it is: "should we upgrade Aizuchi?"
fn ends_with_verb(question: &str) -> bool {
    let mut all = words(question).rev();
    let (verb, subject) = (all.next().unwrap_or_default(), all.next().unwrap_or_default());
    let Some(auxiliary) = all.next() else {
        return is_in("who what which", subject) && is_finite(verb);
    };
    let is_asked = is_in("you u ya", subject) && is_in("did do should", auxiliary)
        || is_in(PEOPLE, subject) && is_in(AUXILIARIES, auxiliary);
    // Not "what should we eat Aizuchi?", whose object is known.
    is_asked && !is_in("what which who", first(question))
}

/// Whether what follows a mark says something about the name before it: "Aizuchi, the bot, was restarted", "Aizuchi,
/// however, never answered".
fn is_said_of_it(sentence: &str) -> bool {
    let mut parts = sentence.split([',', '–', '—']);
    let (aside, behind) = (parts.next().unwrap_or_default(), parts.next());
    let opens_apposition = is_in(DETERMINERS, first(aside))
        || is_in("which who whose as like", first(aside))
        || words(aside).count() <= 2 && words(aside).any(|word| !is_in(OPENERS, word));
    is_in("says said", first(sentence))
        || opens_apposition && behind.is_some_and(|it| begins_predicate(it) || is_finite(first(it)))
}

/// Whether the words that follow a name have it as their subject: "is slow", but not "is the deploy today?".
fn begins_predicate(words_behind: &str) -> bool {
    match first(words_behind) {
        word if is_in(AUXILIARIES, word) => !is_inverted(words_behind),
        word => is_in(PREDICATES, word),
    }
}

/// Whether a word looks like a finite verb: "works", "answered".
fn is_finite(word: &str) -> bool {
    let ends = word.ends_with("ed") || word.ends_with('s') && !word.ends_with("ss");
    word.len() > 3
        && ends
        && !is_in("need this thanks thoughts", word)
        && !is_in(QUESTION_WORDS, word)
}

/// Whether a sentence that begins with an auxiliary verb asks: "can you", "is the deploy today?".
fn is_inverted(sentence: &str) -> bool {
    let second = words(sentence).nth(1).unwrap_or_default();
    is_in("are were do don't aren't r am", first(sentence))
        || is_in(PRONOUNS, second)
        || sentence.contains('?') && is_in(DETERMINERS, second)
}

/// Whether a sentence asks its reader for something, so that a name right before it needs no mark.
fn is_request(sentence: &str) -> bool {
    let mut all = words(sentence);
    let (one, two) = (all.next().unwrap_or_default(), all.next());
    let is_joined = sentence.get(one.len()..).is_some_and(|rest| rest.starts_with(' '));
    let Some(two) = two.filter(|_| is_joined) else {
        return is_in("thanks thoughts ty thx wdyt hello hi", one) || is_in(PURE_IMPERATIVES, one);
    };
    let last = words(sentence).next_back().unwrap_or_default();
    let is_question = || {
        let is_relative = is_in("which who", one) && !["one", "of"].contains(&two);
        // "what's the wifi password"
        sentence.contains('?')
            || one.ends_with('s')
            || !is_relative && !is_in(PRONOUNS, two) && !is_in(DETERMINERS, two)
            || is_in(AUXILIARIES, two) && !is_relative
    };
    let is_order = || {
        is_in("remember remind tell say explain", one) && is_in("that everyone", two)
            || is_in(IMPERATIVES, one)
                && (is_in(OBJECTS, two) || two.starts_with(|it: char| it.is_ascii_digit()))
            || is_in(PURE_IMPERATIVES, one) && words(sentence).all(|word| !is_in(AUXILIARIES, word))
            || is_in("me us my our your", two)
                && !is_in(PREDICATES, one)
                && !is_in(AUXILIARIES, one)
                && !is_finite(one)
    };
    is_in(
        "please pls plz you your u ur you're thoughts any quick gimme lemme wdyt i i'm im i've i'd",
        one,
    ) || is_in("please pls plz", last)
        || is_in(AUXILIARIES, one) && is_inverted(sentence)
        || is_in(QUESTION_WORDS, one) && is_question()
        || is_order()
}

/// Whether a sentence speaks to its reader, or asks for something other than what the name before it stands for.
fn is_put_to_reader(sentence: &str) -> bool {
    is_to_reader(sentence) || is_request(sentence) && !speaks_of_it(sentence)
}

fn is_to_reader(sentence: &str) -> bool {
    words(sentence).any(|word| is_in("you you're u", word))
}

fn speaks_of_it(text: &str) -> bool {
    words(text).any(|word| is_in("it its it's", word)) && !is_to_reader(text) && !text.contains('?')
}

/// Whether a clause is an order that needs no name before it: "and add Mia to the list".
pub(super) fn is_order(clause: &str) -> bool {
    let openers = ["and ", "then ", "so ", "now ", "ok ", "please "];
    let clause = clause.trim_start();
    let clause = openers.iter().find_map(|it| clause.strip_prefix(it)).unwrap_or(clause);
    let word = first(clause);
    let last = words(clause).next_back().unwrap_or_default();
    is_in(IMPERATIVES, word) && !is_in("do be go let put read set", word)
        || is_in("book print order share shorter longer", word)
        || is_in("please pls plz", last)
}

/// Whether a text only names others: "Bob and Mia", "and Jenkins".
fn is_list(sentence: &str) -> bool {
    let last = sentence.strip_prefix("and ").filter(|it| !it.contains('?') && !is_to_reader(it));
    let sentence = last.unwrap_or(sentence);
    let count = sentence.matches([',', '&']).count() + sentence.matches(" and ").count();
    let count = count + usize::from(last.is_some());
    let mut items = sentence.split([',', '&']).flat_map(|item| item.split(" and "));
    count > 0 && items.all(|item| words(item).filter(|word| *word != "and").count() <= 1)
}

fn first(sentence: &str) -> &str {
    words(sentence).next().unwrap_or_default()
}
