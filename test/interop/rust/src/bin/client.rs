//! Drives an agent with the official Rust SDK for A2A 1.0, and tells a line of JSON for each scenario.

use std::{env, error::Error, sync::Arc, time::Duration};

use a2a::*;
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::auth::AuthInterceptor;
use a2a_client::{A2AClient, A2AClientFactory, Transport};
use axum::{Json, Router, extract::State, http::HeaderMap, http::StatusCode, routing::post};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;
type Client = A2AClient<Box<dyn Transport>>;

const PUSH_URL: &str = "https://93.184.215.14/hook";

fn var(name: &str) -> String {
    env::var(format!("INTEROP_{name}")).unwrap_or_default()
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}

fn is_in(state: &TaskState, wanted: TaskState) -> Outcome {
    check(*state == wanted, || format!("is {state:?}, not {wanted:?}"))
}

fn message(parts: Vec<Part>) -> Message {
    Message::new(Role::User, parts)
}

fn text(said: &str) -> Message {
    message(vec![Part::text(said)])
}

fn on(task_id: &str, context_id: &str, mut said: Message) -> Message {
    said.task_id = Some(task_id.into());
    said.context_id = Some(context_id.into());
    said
}

fn request(message: Message) -> SendMessageRequest {
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

fn task_in(answer: SendMessageResponse) -> Outcome<Task> {
    match answer {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(_) => Err("the answer is not a task".into()),
    }
}

/// What the agent said in a task.
fn texts_in(task: &Task) -> String {
    let history = task.history.iter().flatten().filter(|said| said.role == Role::Agent);
    history.flat_map(|said| said.parts.iter().filter_map(Part::as_text)).collect()
}

fn state_in(event: &StreamResponse) -> Option<TaskState> {
    match event {
        StreamResponse::Task(task) => Some(task.status.state.clone()),
        StreamResponse::StatusUpdate(update) => Some(update.status.state.clone()),
        _ => None,
    }
}

fn place_of(event: &StreamResponse) -> Option<(String, String)> {
    match event {
        StreamResponse::Task(task) => Some((task.id.clone(), task.context_id.clone())),
        StreamResponse::StatusUpdate(update) => Some((update.task_id.clone(), update.context_id.clone())),
        _ => None,
    }
}

/// The tool calls that updates hold, in the order in which they came.
fn calls_in(events: &[StreamResponse]) -> Vec<&Value> {
    let messages = events.iter().filter_map(|event| match event {
        StreamResponse::StatusUpdate(update) => update.status.message.as_ref(),
        _ => None,
    });
    let parts = messages.flat_map(|said| &said.parts);
    let data = parts.filter_map(|part| match &part.content {
        PartContent::Data(data) => Some(data),
        _ => None,
    });
    data.filter(|data| data.get("tool_name").is_some()).collect()
}

fn kinds_in(events: &[StreamResponse]) -> Vec<String> {
    let extension = var("EXTENSION");
    let metadata = events.iter().filter_map(|event| match event {
        StreamResponse::StatusUpdate(update) => update.metadata.as_ref(),
        _ => None,
    });
    let kinds = metadata.filter_map(|metadata| metadata.get(&extension)?.get("kind")?.as_str());
    kinds.map(String::from).collect()
}

fn fails<T>(answer: Result<T, A2AError>, code: i32) -> Outcome {
    match answer {
        Err(error) => check(error.code == code, || format!("{} {}, not {code}", error.code, error.message)),
        Ok(_) => Err(format!("did not fail with {code}").into()),
    }
}

struct Player {
    card: AgentCard,
    plain: Client,
    /// Asks for the extension with each call.
    extended: Client,
}

impl Player {
    /// Reads the card, and leaves one of its interfaces to choose from.
    async fn connect() -> Outcome<Self> {
        let mut card = AgentCardResolver::new(None).resolve(&var("URL")).await?;
        let extensions = card.capabilities.extensions.iter().flatten();
        check(extensions.map(|one| &one.uri).any(|uri| *uri == var("EXTENSION")), || "lacks the extension".into())?;
        let binding = var("BINDING");
        card.supported_interfaces
            .retain(|one| one.protocol_binding == binding && one.protocol_version.starts_with(&var("PROTOCOL")));
        let plain = factory(false).create_from_card(&card).await?;
        let extended = factory(true).create_from_card(&card).await?;
        Ok(Self { card, plain, extended })
    }

    async fn play(&self, scenario: &str) -> Option<Outcome> {
        Some(match scenario {
            "message" => self.message().await,
            "appendix_a" => self.appendix_a().await,
            "continued" => self.continued().await,
            "cancel" => self.cancel().await,
            "resume" => self.resume().await,
            "errors" => self.errors().await,
            "extended_card" => self.extended_card().await,
            "push" if self.card.capabilities.push_notifications == Some(true) => self.push().await,
            "notified" => self.notified().await,
            _ => return None,
        })
    }

    async fn send(&self, said: Message) -> Outcome<Task> {
        task_in(self.plain.send_message(&request(said)).await?)
    }

    async fn read(&self, id: &str) -> Outcome<Task> {
        let asked = GetTaskRequest { id: id.into(), history_length: None, tenant: None };
        Ok(self.plain.get_task(&asked).await?)
    }

    async fn told(&self, said: Message) -> Outcome<Vec<StreamResponse>> {
        let stream = self.extended.send_streaming_message(&request(said)).await?;
        Ok(stream.try_collect().await?)
    }

    /// Starts a task that stays at work, and goes away.
    async fn start(&self, said: &str) -> Outcome<String> {
        let mut stream = self.plain.send_streaming_message(&request(text(said))).await?;
        let first = stream.next().await.ok_or("no task began")??;
        let (id, _) = place_of(&first).ok_or("the stream begins with neither a task nor an update")?;
        Ok(id)
    }

    async fn message(&self) -> Outcome {
        let task = self.send(text("text hello there")).await?;
        is_in(&task.status.state, TaskState::Completed)?;
        let said = texts_in(&self.read(&task.id).await?);
        check(said == "hello there", || format!("said {said:?}"))
    }

    async fn appendix_a(&self) -> Outcome {
        let asked = self.told(text(&format!("think\nwrite {} made\ntext Done.", var("FILE")))).await?;
        let kinds = kinds_in(&asked);
        for kind in ["THOUGHT", "TOOL_CALL_UPDATE"] {
            check(kinds.iter().any(|one| one == kind), || format!("kinds are {kinds:?}"))?;
        }
        let last = asked.last().ok_or("nothing was told")?;
        is_in(&state_in(last).unwrap_or_default(), TaskState::InputRequired)?;
        let calls = calls_in(&asked);
        let question = calls.iter().rev().find(|call| !call["confirmation_request"].is_null()).ok_or("nothing is asked")?;
        let answer = json!({"tool_call_id": question["tool_call_id"], "selected_option_id": "proceed_once"});
        let (id, context_id) = place_of(last).ok_or("the last event is not an update")?;
        let done = self.told(on(&id, &context_id, message(vec![Part::data(answer)]))).await?;
        let status = calls_in(&done).last().map(|call| call["status"].clone());
        check(status == Some(json!("SUCCEEDED")), || format!("the call is {status:?}"))?;
        is_in(&done.last().and_then(state_in).unwrap_or_default(), TaskState::Completed)
    }

    /// Sees another task of the conversation go on where one has ended (STREAM-5), and the same where one asks.
    async fn continued(&self) -> Outcome {
        let first = self.send(text("text one")).await?;
        let again = self.send(on(&first.id, &first.context_id, text("text two"))).await?;
        check(again.context_id == first.context_id && again.id != first.id, || "another task went on".into())?;
        is_in(&again.status.state, TaskState::Completed)?;
        let asked = self.send(text(&format!("write {}-no nothing", var("FILE")))).await?;
        is_in(&asked.status.state, TaskState::InputRequired)?;
        let declined = self.send(on(&asked.id, &asked.context_id, text("no"))).await?;
        check(declined.id == asked.id, || "another task was answered".into())?;
        is_in(&declined.status.state, TaskState::Completed)
    }

    async fn cancel(&self) -> Outcome {
        let id = self.start("wait 60000").await?;
        let canceled = self.plain.cancel_task(&CancelTaskRequest { id: id.clone(), metadata: None, tenant: None }).await?;
        is_in(&canceled.status.state, TaskState::Canceled)?;
        is_in(&self.read(&id).await?.status.state, TaskState::Canceled)
    }

    async fn resume(&self) -> Outcome {
        let id = self.start("wait 300\ntext late").await?;
        let stream = self.plain.subscribe_to_task(&SubscribeToTaskRequest { id: id.clone(), tenant: None }).await?;
        let events: Vec<_> = stream.try_collect().await?;
        is_in(&events.last().and_then(state_in).unwrap_or_default(), TaskState::Completed)?;
        let said = texts_in(&self.read(&id).await?);
        check(said == "late", || format!("said {said:?}"))
    }

    async fn errors(&self) -> Outcome {
        let nowhere = GetTaskRequest { id: new_task_id(), history_length: None, tenant: None };
        fails(self.plain.get_task(&nowhere).await, error_code::TASK_NOT_FOUND)?;
        let id = self.send(text("text done")).await?.id;
        let late = CancelTaskRequest { id, metadata: None, tenant: None };
        fails(self.plain.cancel_task(&late).await, error_code::TASK_NOT_CANCELABLE)?;
        fails(self.plain.send_message(&request(message(vec![]))).await, error_code::INVALID_PARAMS)
    }

    async fn extended_card(&self) -> Outcome {
        let card = self.plain.get_extended_agent_card(&GetExtendedAgentCardRequest { tenant: None }).await?;
        check(card.skills.iter().any(|skill| skill.name == "/help"), || "the card lists no slash commands".into())
    }

    async fn push(&self) -> Outcome {
        let task_id = self.send(text("text done")).await?.id;
        let hook = push_config(&task_id, PUSH_URL);
        let stored = self.plain.create_push_config(&hook).await?;
        check(stored.url == PUSH_URL, || format!("stored {stored:?}"))?;
        let id = hook.id.unwrap_or_default();
        let named = GetTaskPushNotificationConfigRequest { task_id: task_id.clone(), id: id.clone(), tenant: None };
        let read = self.plain.get_push_config(&named).await?;
        check(read.token.as_deref() == Some("[hidden]"), || format!("read {read:?}"))?;
        check(self.push_configs(&task_id).await? == 1, || "one config is not listed as one".into())?;
        let gone = DeleteTaskPushNotificationConfigRequest { task_id: task_id.clone(), id, tenant: None };
        self.plain.delete_push_config(&gone).await?;
        check(self.push_configs(&task_id).await? == 0, || "a config is left".into())
    }

    async fn push_configs(&self, task_id: &str) -> Outcome<usize> {
        let all =
            ListTaskPushNotificationConfigsRequest { task_id: task_id.into(), page_size: None, page_token: None, tenant: None };
        Ok(self.plain.list_push_configs(&all).await?.configs.len())
    }

    /// Asks for notifications beside a message, and reads those that come until one tells the end of the task.
    async fn notified(&self) -> Outcome {
        let hook = var("HOOK");
        let (sender, mut posts) = mpsc::unbounded_channel();
        let listener = TcpListener::bind(&hook).await?;
        let app = Router::new().route("/", post(receive)).with_state(sender);
        let serving = tokio::spawn(async move { axum::serve(listener, app).await });
        let config = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: Some(push_config("", &format!("http://{hook}/"))),
            history_length: None,
            return_immediately: None,
        };
        let asked = SendMessageRequest { configuration: Some(config), ..request(text("text told")) };
        let task = task_in(self.plain.send_message(&asked).await?)?;
        loop {
            let (token, body): (String, Value) = posts.recv().await.ok_or("nobody listens")?;
            let event: StreamResponse = serde_json::from_value(body)?;
            let of = place_of(&event).map(|(id, _)| id);
            check(token == "t" && of.as_ref() == Some(&task.id), || format!("was told of {of:?} with token {token:?}"))?;
            if state_in(&event) == Some(TaskState::Completed) {
                serving.abort();
                return Ok(());
            }
        }
    }
}

fn push_config(task_id: &str, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.into(),
        id: Some("hook".into()),
        task_id: task_id.into(),
        token: Some("t".into()),
        authentication: None,
        tenant: None,
    }
}

async fn receive(
    State(posts): State<mpsc::UnboundedSender<(String, Value)>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> StatusCode {
    let token = headers.get("x-a2a-notification-token").and_then(|value| value.to_str().ok());
    let _ = posts.send((token.unwrap_or_default().into(), body));
    StatusCode::NO_CONTENT
}

fn factory(with_extension: bool) -> A2AClientFactory {
    let builder = A2AClientFactory::builder()
        .register(Arc::new(a2a_grpc::GrpcTransportFactory::new()))
        .with_interceptor(Arc::new(AuthInterceptor::bearer(var("TOKEN"))));
    if !with_extension {
        return builder.build();
    }
    builder.with_interceptor(Arc::new(AuthInterceptor::custom("A2A-Extensions", var("EXTENSION")))).build()
}

fn tell(scenario: &str, outcome: Outcome) {
    let reason = outcome.err().map(|error| error.to_string().chars().take(400).collect::<String>());
    println!("{}", json!({"scenario": scenario, "ok": reason.is_none(), "reason": reason}));
}

#[tokio::main]
async fn main() {
    let player = match Player::connect().await {
        Ok(player) => player,
        Err(error) => return tell("card", Err(error)),
    };
    tell("card", Ok(()));
    for scenario in env::args().skip(1) {
        match timeout(Duration::from_secs(15), player.play(&scenario)).await {
            Ok(None) => {}
            Ok(Some(outcome)) => tell(&scenario, outcome),
            Err(_) => tell(&scenario, Err("did not end in 15 s".into())),
        }
    }
}
