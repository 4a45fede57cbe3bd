//! A sync fetches a server while events change it.

use aizuchi_fakes::discord::api_error::RateLimitScope;
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::permission::OverwriteTarget;
use aizuchi_fakes::fault::Hang;
use twilight_model::guild::Permissions;

use crate::discord::harness::DiscordHarness;

/// The sync has fetched the channels when one of them becomes private.
#[tokio::test]
async fn a_sync_does_not_make_a_channel_public_again() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    assert_eq!(program.stop(), Some(0));
    // After a restart that resumes its session, the program fetches the server.
    let fetches = harness.discord.calls(Method::GetMember).len();
    harness.discord.inject_fault(Method::GetMember, Fault::HangBefore(Hang::UntilReleased));
    let program = harness.home.start();
    harness.until(|discord| discord.calls(Method::GetMember).len() > fetches).await;
    let (view, everyone) = (Permissions::VIEW_CHANNEL, OverwriteTarget::Role(harness.guild.cast()));
    harness.discord.set_permissions(harness.tea, PermissionEffect::Allow, view).unwrap();
    harness
        .discord
        .set_permissions_for(harness.tea, everyone, PermissionEffect::Deny, view)
        .unwrap();
    harness.says(harness.tea, harness.mio, "now we are among ourselves");
    harness.until_line("now we are among ourselves").await;
    harness.discord.release_hanging();
    let private = format!(
        "SELECT count(*) FROM channels WHERE id = '{}' AND visibility = 'private'",
        harness.tea
    );
    harness.until_kept(&private, 1).await;
    let public = "SELECT count(*) FROM messages WHERE visibility = 'public'";
    assert_eq!(harness.count(public).await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// Calls that Discord asks to delay are not failures, so a real one after them does not end the sync.
#[tokio::test]
async fn rate_limits_do_not_use_up_the_attempts_of_a_sync() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    assert_eq!(program.stop(), Some(0));
    let fetches = harness.discord.calls(Method::GetMember).len();
    let limited = Fault::rate_limited(0.01, RateLimitScope::User);
    harness.discord.inject_fault_times(Method::GetMember, &limited, 8);
    harness.discord.inject_fault(Method::GetMember, Fault::Status(500));
    let program = harness.home.start();
    harness.until(|discord| discord.calls(Method::GetMember).len() >= fetches + 10).await;
    assert!(!harness.log().contains("could not sync the servers"), "{}", harness.log());
    assert_eq!(program.stop(), Some(0));
}
