//! The card in the local room with a proposal to decide on.

use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

/// The card of the next proposal appears below the pointer.
#[tokio::test]
async fn a_double_click_decides_on_one_proposal_only() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start_undrawn_in("en-US").await;
    let tab = browser.blank().await;
    // A page that does not update itself; the script replaces its content by a card with two open proposals.
    tab.open_page(&format!("{}/console/api", program.address)).await;
    let script = "const [done] = arguments;
        document.body.innerHTML = `<script id='settings' type='application/json'>{ \"language\": \"en\" }</script>
            <textarea id='composer'></textarea>
            <section id='proposal'><p id='proposal-text'></p><p id='proposal-why'></p>
            <textarea id='proposal-words'></textarea><p id='proposal-error'></p></section>`;
        for (const name of ['say', 'not-now', 'never', 'other', 'say-this']) {
            const button = document.createElement('button');
            button.id = `proposal-${name}`;
            document.getElementById('proposal').append(button);
        }
        const proposal = (id) =>
            ({ id, state: 'open', channel: 'general', text: `words ${id}`, why: null, expires: 60 });
        const open = [proposal(2), proposal(1)];
        const decided = [];
        window.fetch = async (address, { body } = {}) => {
            if (body === undefined) return new Response(JSON.stringify({ proposals: open }));
            decided.push([address, JSON.parse(body).choice]);
            open.pop();
            return new Response(null, { status: 204 });
        };
        import('/static/proposals.js').then(async ({ Proposals }) => {
            const proposals = new Proposals({ secondsUntil: (time) => time }, () => 'general');
            await proposals.load();
            const click = async (name, detail) => {
                document.getElementById(`proposal-${name}`).dispatchEvent(new MouseEvent('click', { detail }));
                await proposals.load();
            };
            await click('say', 1);
            await click('say', 2);
            await click('not-now', 1);
            done(decided);
        })";
    let decided = json!([["/api/proposals/1", "say"], ["/api/proposals/2", "not_now"]]);
    assert_eq!(tab.evaluate_later(script, vec![]).await, decided);
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
