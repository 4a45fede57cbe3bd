//! The standing orders of the replaced database, so that an older backup brings back none that was revoked since, and
//! loses none that was given.

use aizuchi_model::chat::{UserId, WorkspaceId};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::standing_order::StandingOrder;
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::{Counters, rows, sql, standing_orders};

pub struct FormerStandingOrders {
    in_force: Vec<(WorkspaceId, StandingOrder)>,
    /// The last number of each workspace.
    numbers: Vec<(String, i64)>,
}

impl FormerStandingOrders {
    pub async fn read(connection: &mut Connection) -> Result<Self, StoreError> {
        let found = query(sql::orders::STANDING_ORDER_NUMBERS).fetch_all(&mut *connection).await?;
        let number = |row| Ok((rows::column(row, "workspace")?, rows::column(row, "number")?));
        let numbers = found.iter().map(number).collect::<Result<_, StoreError>>()?;
        Ok(Self { in_force: in_force(connection).await?, numbers })
    }

    /// Replaces the backup's orders with these, except for those of users who have opted out in the backup. The ended
    /// orders of the backup are kept, since they lead to the prompts that held them. Its drafts have lapsed.
    pub async fn put(
        self,
        connection: &mut Connection,
        counters: &mut Counters,
        opted_out: &[(WorkspaceId, UserId)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Self { in_force: former, numbers } = self;
        for (workspace, number) in numbers {
            let raise = query(sql::orders::RAISE_STANDING_ORDER_NUMBER).bind(workspace);
            raise.bind(number).execute(&mut *connection).await?;
        }
        query(sql::orders::DROP_ALL_STANDING_ORDER_DRAFTS).execute(&mut *connection).await?;
        let here = in_force(connection).await?;
        for known in here.iter().filter(|known| !contains(&former, known)) {
            let (workspace, order) = known;
            standing_orders::end(connection, workspace, order.number, now).await?;
        }
        for given in former.iter().filter(|given| !contains(&here, given)) {
            let (workspace, order) = given;
            let has_opted_out = signer(&order.by).is_some_and(|by| {
                opted_out.iter().any(|(there, user)| there == workspace && user.as_str() == by)
            });
            if !has_opted_out {
                put_again(connection, counters, workspace, order).await?;
            }
        }
        Ok(())
    }
}

async fn in_force(
    connection: &mut Connection,
) -> Result<Vec<(WorkspaceId, StandingOrder)>, StoreError> {
    let found = query(sql::orders::ALL_STANDING_ORDERS).fetch_all(connection).await?;
    let order = |row| {
        let workspace = WorkspaceId::new(rows::column::<String>(row, "workspace")?);
        Ok((workspace, standing_orders::from_row(row)?))
    };
    found.iter().map(order).collect()
}

/// Whether these contain an order. After an earlier restore, another order may have the same number.
fn contains(
    orders: &[(WorkspaceId, StandingOrder)],
    (workspace, order): &(WorkspaceId, StandingOrder),
) -> bool {
    orders.iter().any(|(there, other)| {
        there == workspace
            && (other.number, other.version) == (order.number, order.version)
            && (&other.by, &other.text) == (&order.by, &order.text)
    })
}

/// Gives an order under its number, or under a new one if another order has it here.
async fn put_again(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    order: &StandingOrder,
) -> Result<(), StoreError> {
    let taken = query(sql::orders::HAS_STANDING_ORDER_VERSION)
        .bind(workspace.as_str())
        .bind(order.number)
        .bind(order.version);
    let is_taken = taken.fetch_optional(&mut *connection).await?.is_some();
    let number = match is_taken {
        true => standing_orders::next_number(connection, workspace).await?,
        false => order.number,
    };
    let order = StandingOrder { number, ..order.clone() };
    standing_orders::put(connection, counters, workspace, &order).await
}
