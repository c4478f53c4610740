//! Asks an agent to write a file, looks at what it wants to do, and allows it.

use connectrpc::client::{ClientConfig, HttpClient};
use devtool_bindings::devtool::a2a::v1alpha::__buffa::oneof::confirmation_request::Details;
use devtool_bindings::devtool::a2a::v1alpha::{ToolCallConfirmation, ToolCallStatus};
use devtool_bindings::devtool::v1alpha::__buffa::oneof::{part::Content, task_event::Payload};
use devtool_bindings::devtool::v1alpha::{
    Message, Part, SendMessageRequest, StreamMessageRequest, TaskServiceClient,
};
use std::{env, error::Error};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("DEVTOOL_URL").unwrap_or("http://127.0.0.1:41242".into());
    let token = env::var("DEVTOOL_TOKEN").unwrap_or_default();
    let config = ClientConfig::new(url.parse()?).with_default_header("authorization", format!("Bearer {token}"));
    let tasks = TaskServiceClient::new(HttpClient::plaintext(), config);

    let prompt = Content::Text("write hello-rust.txt Hello from Rust\ntext Written.".into());
    let mut asked = tasks.stream_message(request("question", "", vec![prompt])).await?;
    let (mut task_id, mut questions) = (String::new(), Vec::new());
    while let Some(response) = asked.message().await? {
        let Some(event) = response.to_owned_message().event.into_option() else { continue };
        task_id = event.task_id;
        if let Some(Payload::ToolCall(call)) = event.payload
            && call.status == ToolCallStatus::PENDING
            && call.confirmation_request.is_set()
        {
            questions.push(call);
        }
    }

    let mut answers = Vec::new();
    for call in questions {
        if let Some(Details::FileEditDetails(edit)) = &call.confirmation_request.details {
            println!("{} wants to write {}: {}", call.tool_name, edit.file_name, edit.new_content);
        }
        answers.push(Content::from(ToolCallConfirmation {
            tool_call_id: call.tool_call_id,
            selected_option_id: "proceed_once".into(),
            ..Default::default()
        }));
    }

    let mut answered = tasks.stream_message(request("answer", &task_id, answers)).await?;
    while let Some(response) = answered.message().await? {
        let event = response.to_owned_message().event.unwrap();
        match event.payload {
            Some(Payload::Text(text)) => println!("{}", text.text),
            Some(Payload::StateChange(_)) => println!("{}", serde_json::to_string(&event.state)?),
            _ => {}
        }
    }
    Ok(())
}

/// Asks to send a message; its id must be a new one for each message of yours.
fn request(message: &str, task_id: &str, contents: Vec<Content>) -> StreamMessageRequest {
    let parts = contents.into_iter().map(|content| Part { content: Some(content), ..Default::default() });
    let message = Message {
        message_id: format!("{}-{message}-{}", env!("CARGO_PKG_NAME"), std::process::id()),
        parts: parts.collect(),
        ..Default::default()
    };
    let send = SendMessageRequest { task_id: task_id.into(), message: message.into(), ..Default::default() };
    StreamMessageRequest { request: send.into(), ..Default::default() }
}
