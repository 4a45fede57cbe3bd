//! Requests that ask for an action: each gives one order, which is applied at once.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::authorization::Authorization;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::texts::refusals;
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::OrderRecord;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use tracing::warn;

use crate::access::Visitor;
use crate::api::json;
use crate::refusal::{BodyFormat, Refusal};
use crate::{ApiProblem, Web, scoped_store, workspaces};

/// What a request asks for, in its body or its query.
pub trait ActionRequest: DeserializeOwned + Send {
    /// The format of the body, if it is one.
    const FORMAT: BodyFormat = refusals::malformed_order;

    /// Returns the order, if the visitor may give it. `number` stands in the path of some requests.
    fn order(
        self,
        web: &Web,
        access: &Access,
        number: i64,
    ) -> impl Future<Output = Result<Order, ApiProblem>> + Send;
}

/// Declares requests: what each asks for, in a workspace, and the order that it gives. Unknown fields are rejected: a
/// misspelled `channel` must not mute every channel.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $scope:ident $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty),* $(,)? }
        $format:ident |$it:ident, $web:ident, $access:ident, $number:pat_param| $order:block
    )*) => {
        $($crate::actions::requests! { @$scope
            $(#[$doc])* $name { $($(#[$of_field])* $field: $type),* }
            $format |$it, $web, $access, $number| $order
        })*
    };
    // The local room, if no workspace is named.
    (@in_one $($request:tt)*) => {
        $crate::actions::requests! { @"The id of a workspace; the local room if omitted."; $($request)* }
    };
    (@in_any $($request:tt)*) => {
        $crate::actions::requests! {
            @"The id of the workspace to look in; all workspaces if omitted."; $($request)*
        }
    };
    (@$workspace:literal;
        $(#[$doc:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty),* }
        $format:ident |$it:ident, $web:ident, $access:ident, $number:pat_param| $order:block
    ) => {
        $(#[$doc])*
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            #[doc = $workspace]
            pub workspace: Option<String>,
            $($(#[$of_field])* pub $field: $type,)*
        }

        impl $crate::actions::ActionRequest for $name {
            const FORMAT: $crate::refusal::BodyFormat = aizuchi_model::texts::refusals::$format;

            async fn order(
                self,
                $web: &$crate::Web,
                $access: &aizuchi_actions::access::Access,
                $number: i64,
            ) -> Result<aizuchi_store::order::Order, $crate::ApiProblem> {
                let $it = self;
                $order
            }
        }
    };
}
pub(crate) use requests;

/// A path without a number names nothing: no row has this one.
pub const NO_NUMBER: i64 = -1;

/// Carries out what a body asks for.
pub async fn act<R: ActionRequest>(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    number: Result<Path<i64>, PathRejection>,
    body: Result<Json<R>, JsonRejection>,
) -> Result<StatusCode, ApiProblem> {
    let number = number.map_or(NO_NUMBER, |Path(number)| number);
    let order = json(body, R::FORMAT)?.order(&web, &visitor.access, number).await?;
    web.apply(order).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Carries out what an address asks for.
pub async fn act_on<R: ActionRequest>(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    number: Result<Path<i64>, PathRejection>,
    query: Result<Query<R>, QueryRejection>,
) -> Result<StatusCode, ApiProblem> {
    let number = number.map_or(NO_NUMBER, |Path(number)| number);
    let Query(query) = query.map_err(workspaces::unclear)?;
    web.apply(query.order(&web, &visitor.access, number).await?).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl Web {
    pub(crate) fn authorization(&self) -> Authorization<'_> {
        Authorization {
            store: &*self.store,
            archive: &*self.archive,
            rulebook: self.room.rulebook(),
            now: self.clock.now(),
        }
    }

    /// Records in the journal what a visitor did. A failure is logged: it is already done, and the store may be what
    /// fails.
    pub(crate) async fn note(&self, workspace: WorkspaceId, record: OrderRecord, by: Arc<str>) {
        let kind = record.kind.name();
        let noted = Order::Note { workspace, record }.signed(by);
        if let Err(error) = self.inbox.apply_order(noted).await {
            warn!(%error, kind, "this is missing in the journal of orders");
        }
    }

    /// Applies an order. Open pages of the local room show it at once.
    pub(crate) async fn apply(&self, order: Order) -> Result<(), ApiProblem> {
        if !scoped_store::allows(&self.scope, &order) {
            return Err(Refusal::OutOfReach.into());
        }
        let applied = match *order.workspace() == workspace_id() {
            true => self.room.apply_order(order).await,
            false => self.inbox.apply_order(order).await,
        };
        Ok(applied?)
    }
}
