//! Starts a task, answers its questions as it is told to, and follows it.

use crate::devtool::a2a::v1alpha::{ModifiedFileDetails, ToolCall, ToolCallConfirmation, ToolCallStatus};
use crate::devtool::conformance::v1alpha::{Answer, Conversation, Converse};
use crate::devtool::v1alpha::__buffa::oneof::{part::Content, task_event::Payload};
use crate::devtool::v1alpha::{
    GetTaskRequest, Message, Part, SendMessageRequest, StreamMessageRequest, TaskEvent, TaskServiceClient,
};
use connectrpc::client::{ClientConfig, HttpClient};
use std::error::Error;

pub async fn converse(asked: Converse) -> Result<Conversation, Box<dyn Error>> {
    let config = ClientConfig::new(asked.url.parse()?)
        .with_default_header("authorization", format!("Bearer {}", asked.token));
    let tasks = TaskServiceClient::new(HttpClient::plaintext(), config);
    let mut answers = asked.answers.into_iter();
    let mut events: Vec<TaskEvent> = Vec::new();
    let mut parts = vec![part(Content::Text(asked.prompt))];
    let mut task_id = String::new();
    while !parts.is_empty() {
        events.extend(exchange(&tasks, &task_id, parts).await?);
        task_id = events.first().ok_or("no event came")?.task_id.clone();
        parts = open_questions(&events)
            .into_iter()
            .map(|call| Ok(confirmation(call, answers.next().ok_or(format!("no answer for {}", call.tool_call_id))?)))
            .collect::<Result<_, String>>()?;
    }
    let got = tasks.get_task(GetTaskRequest { task_id, ..Default::default() }).await?.into_owned();
    Ok(Conversation { events, task: got.task, ..Default::default() })
}

async fn exchange(
    tasks: &TaskServiceClient<HttpClient>,
    task_id: &str,
    parts: Vec<Part>,
) -> Result<Vec<TaskEvent>, Box<dyn Error>> {
    let message = Message { message_id: message_id(), parts, ..Default::default() };
    let request = SendMessageRequest { task_id: task_id.into(), message: message.into(), ..Default::default() };
    let request = StreamMessageRequest { request: request.into(), ..Default::default() };
    let mut stream = tasks.stream_message(request).await?;
    let mut events = Vec::new();
    while let Some(response) = stream.message().await? {
        events.extend(response.to_owned_message().event.into_option());
    }
    Ok(events)
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
