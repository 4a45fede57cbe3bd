//! What the app answers to commands and buttons.

use serde_json::{Value, json};

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::api::messages::Written;
use crate::discord::command::{self, Interaction, Standing, flags_of};
use crate::discord::id::MessageId;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::shape::Way;
use crate::discord::world::World;

pub fn acknowledge(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let kind = asked.body["type"].as_u64().unwrap_or(0);
    let data = asked.body["data"].clone();
    if kind == 4 {
        check(&data)?;
    }
    world.acknowledge(asked.id("interaction")?, asked.part("token"), kind, &data)?;
    if asked.query("with_response") != Some("true") {
        return Ok(Answer::nothing());
    }
    let interaction = found(world, asked)?;
    let message = interaction.answers.first().map(|answer| shape(world, &interaction, answer));
    Ok(Answer::of(json!({
        "interaction": { "id": interaction.id, "type": interaction.kind },
        "resource": { "type": kind, "message": message },
    })))
}

fn check(data: &Value) -> Result<(), Refusal> {
    let written: Written = serde_json::from_value(data.clone()).map_err(|_| {
        Refusal::of_field("data", "MODEL_TYPE_CONVERT", "Only dictionaries may be used.")
    })?;
    written.check()?;
    match written.is_empty() {
        true => Err(Reason::EmptyMessage.into()),
        false => Ok(()),
    }
}

/// The interaction of a request's token.
fn found(world: &mut World, asked: &Asked) -> Result<Interaction, Refusal> {
    let now = world.now();
    world.commands.of_token(asked.part("token"), now).cloned()
}

fn shape(world: &World, interaction: &Interaction, answer: &command::Answer) -> Value {
    let channel = world.channels.get(&interaction.channel);
    channel.map_or(Value::Null, |channel| world.message_shape(channel, &answer.message, Way::Rest))
}

/// Another message, or the one that was being thought of.
pub fn follow_up(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let interaction = found(world, asked)?;
    check(&asked.body)?;
    let flags = match interaction.standing {
        Standing::Unanswered => return Err(Reason::UnknownWebhook.into()),
        // The first one takes the place of the thought, and is as hidden.
        Standing::Deferred(flags) => flags,
        Standing::Answered => flags_of(&asked.body),
    };
    let id = world.answer(&interaction, flags, &asked.body)?;
    told(world, asked, id)
}

fn told(world: &mut World, asked: &Asked, id: MessageId) -> Result<Answer, Refusal> {
    let interaction = found(world, asked)?;
    let answer = interaction.answers.iter().find(|answer| answer.message.id == id);
    let answer = answer.ok_or(Reason::UnknownMessage)?;
    Ok(Answer::of(shape(world, &interaction, answer)))
}

/// Which answer a request is about.
fn chosen(interaction: &Interaction, asked: &Asked) -> Result<MessageId, Refusal> {
    match asked.part("message") {
        "@original" => {
            let original = interaction.answers.first();
            original.map(|answer| answer.message.id).ok_or(Reason::UnknownMessage.into())
        }
        _ => asked.id("message"),
    }
}

pub fn read(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let interaction = found(world, asked)?;
    let id = chosen(&interaction, asked)?;
    told(world, asked, id)
}

pub fn change(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let interaction = found(world, asked)?;
    check(&asked.body)?;
    // To change a thought is to speak it.
    if let Standing::Deferred(flags) = interaction.standing
        && asked.part("message") == "@original"
    {
        let id = world.answer(&interaction, flags, &asked.body)?;
        return told(world, asked, id);
    }
    let id = chosen(&interaction, asked)?;
    let text = asked.body["content"].as_str().unwrap_or_default();
    world.change_answer(&interaction, id, text)?;
    told(world, asked, id)
}

pub fn delete(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let interaction = found(world, asked)?;
    let id = chosen(&interaction, asked)?;
    world.withdraw_answer(&interaction, id)?;
    Ok(Answer::nothing())
}
