//! Starts a task, answers its questions as it is told to, and follows it.

use crate::devtool::a2a::v1alpha::{ModifiedFileDetails, ToolCall, ToolCallConfirmation, ToolCallStatus};
use crate::devtool::conformance::v1alpha::{Answer, Conversation, Converse};
use crate::devtool::v1alpha::__buffa::oneof::{part::Content, task_event::Payload};
use crate::devtool::v1alpha::{
    GetTaskRequest, Message, Part, SendMessageRequest, StreamMessageRequest, SubscribeTaskRequest, TaskEvent,
    TaskServiceClient, TaskState,
};
use connectrpc::client::{ClientConfig, HttpClient};
use std::error::Error;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A connection that breaks is resumed, up to the maximum number of attempts.
pub async fn converse(asked: Converse, tries: u32) -> Fallible<Conversation> {
    let config = ClientConfig::new(asked.url.parse()?)
        .with_default_header("authorization", format!("Bearer {}", asked.token));
    let tasks = TaskServiceClient::new(HttpClient::plaintext(), config);
    let mut answers = asked.answers.into_iter();
    let mut events: Vec<TaskEvent> = Vec::new();
    let mut parts = vec![part(Content::Text(asked.prompt))];
    while !parts.is_empty() {
        let message = Message { message_id: message_id(), parts, ..Default::default() };
        repeated(tries, async || follow(&tasks, &message, &mut events).await).await?;
        parts = open_questions(&events)
            .into_iter()
            .map(|call| Ok(confirmation(call, answers.next().ok_or(format!("no answer for {}", call.tool_call_id))?)))
            .collect::<Result<_, String>>()?;
    }
    let request = GetTaskRequest { task_id: task_id(&events), ..Default::default() };
    let got = repeated(tries, async || Ok(tasks.get_task(request.clone()).await?.into_owned())).await?;
    Ok(Conversation { events, task: got.task, ..Default::default() })
}

/// Runs again what was broken off.
async fn repeated<T>(tries: u32, mut run: impl AsyncFnMut() -> Fallible<T>) -> Fallible<T> {
    for _ in 1..tries {
        if let Ok(done) = run().await {
            return Ok(done);
        }
    }
    run().await
}

/// Adds the events of an exchange: all of them, or those after the last that has come.
async fn follow(
    tasks: &TaskServiceClient<HttpClient>,
    message: &Message,
    events: &mut Vec<TaskEvent>,
) -> Fallible<()> {
    let task_id = task_id(events);
    if let Some(last) = events.last().filter(|last| !ends_exchange(last)) {
        let request = SubscribeTaskRequest { task_id, after_sequence: last.sequence, ..Default::default() };
        let mut stream = tasks.subscribe_task(request).await?;
        while let Some(response) = stream.message().await? {
            if take(response.to_owned_message().event.into_option(), events) {
                return Ok(());
            }
        }
    } else {
        // The same message under the same id is a retry, and starts nothing anew.
        let request = SendMessageRequest { task_id, message: message.clone().into(), ..Default::default() };
        let request = StreamMessageRequest { request: request.into(), ..Default::default() };
        let mut stream = tasks.stream_message(request).await?;
        while let Some(response) = stream.message().await? {
            if take(response.to_owned_message().event.into_option(), events) {
                return Ok(());
            }
        }
    }
    Err("the stream ended before the exchange".into())
}

/// Adds an event, and tells whether its exchange ends with it.
fn take(event: Option<TaskEvent>, events: &mut Vec<TaskEvent>) -> bool {
    let ends = event.as_ref().is_some_and(ends_exchange);
    events.extend(event);
    ends
}

fn ends_exchange(event: &TaskEvent) -> bool {
    let goes_on = event.state == TaskState::Submitted || event.state == TaskState::Working;
    matches!(event.payload, Some(Payload::StateChange(_))) && !goes_on
}

fn task_id(events: &[TaskEvent]) -> String {
    events.first().map(|event| event.task_id.clone()).unwrap_or_default()
}

/// The calls whose last form asks.
fn open_questions(events: &[TaskEvent]) -> Vec<&ToolCall> {
    let mut calls: Vec<&ToolCall> = Vec::new();
    for event in events {
        let Some(Payload::ToolCall(call)) = &event.payload else { continue };
        match calls.iter_mut().find(|earlier| earlier.tool_call_id == call.tool_call_id) {
            Some(earlier) => *earlier = call,
            None => calls.push(call),
        }
    }
    calls.retain(|call| call.status == ToolCallStatus::PENDING && call.confirmation_request.is_set());
    calls
}

fn confirmation(call: &ToolCall, answer: Answer) -> Part {
    let details = answer.new_content.map(|new_content| ModifiedFileDetails { new_content, ..Default::default() });
    part(Content::from(ToolCallConfirmation {
        tool_call_id: call.tool_call_id.clone(),
        selected_option_id: answer.option_id,
        modified_details: details.map(Into::into),
        ..Default::default()
    }))
}

fn part(content: Content) -> Part {
    Part { content: Some(content), ..Default::default() }
}

/// An id that no other message has.
fn message_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}
