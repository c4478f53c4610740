//! Follows a task over connections that break: nothing is left out, and nothing comes twice.

use connectrpc::client::{ClientConfig, HttpClient};
use connectrpc::{ConnectError, ErrorCode};
use devtool_bindings::devtool::v1alpha::__buffa::oneof::{part::Content, task_event::Payload};
use devtool_bindings::devtool::v1alpha::{
    Message, Part, SendMessageRequest, StreamMessageRequest, SubscribeTaskRequest, TaskEvent, TaskServiceClient,
    TaskState,
};
use std::{env, error::Error, thread::sleep, time::Duration};

/// How often in a row a stream may break without a new event.
const ATTEMPTS: u32 = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("DEVTOOL_URL").unwrap_or("http://127.0.0.1:41242".into());
    let token = env::var("DEVTOOL_TOKEN").unwrap_or_default();
    let config = ClientConfig::new(url.parse()?).with_default_header("authorization", format!("Bearer {token}"));
    let tasks = TaskServiceClient::new(HttpClient::plaintext(), config);

    let prompt = Content::Text("say 150\nwait 5\nsay 150".into());
    let mut sequence = 0;
    send(&tasks, vec![Part { content: Some(prompt), ..Default::default() }], |event| {
        assert_eq!(event.sequence, sequence + 1, "an event is missing or came twice");
        sequence = event.sequence;
    })
    .await?;
    println!("none left out, none twice");
    Ok(())
}

/// Sends a message and passes each event of its exchange to `take`, also over connections that break.
async fn send(
    tasks: &TaskServiceClient<HttpClient>,
    parts: Vec<Part>,
    mut take: impl FnMut(&TaskEvent),
) -> Result<(), ConnectError> {
    // The same message under the same id is a retry: the server starts nothing twice.
    let message = Message { message_id: format!("resume-{}", std::process::id()), parts, ..Default::default() };
    let send = SendMessageRequest { message: message.into(), ..Default::default() };
    let request = StreamMessageRequest { request: send.into(), ..Default::default() };
    let mut last: Option<TaskEvent> = None;
    let mut failures = 0;
    loop {
        let before = last.as_ref().map(|event| event.sequence);
        let Err(reason) = receive(tasks, &request, &mut last, &mut take).await else { return Ok(()) };
        if last.as_ref().map(|event| event.sequence) != before {
            failures = 0;
        }
        if is_final(&reason) || failures == ATTEMPTS {
            return Err(reason);
        }
        sleep(Duration::from_millis(100 << failures));
        failures += 1;
    }
}

/// Sends the message while no event of it has come, and afterwards subscribes to the events after the last one. Reads the stream
/// to the end of the exchange.
async fn receive(
    tasks: &TaskServiceClient<HttpClient>,
    request: &StreamMessageRequest,
    last: &mut Option<TaskEvent>,
    take: &mut impl FnMut(&TaskEvent),
) -> Result<(), ConnectError> {
    let mut ends_with = |event: TaskEvent, last: &mut Option<TaskEvent>| {
        take(&event);
        ends_exchange(last.insert(event))
    };
    if let Some(TaskEvent { task_id, sequence, .. }) = last {
        let after =
            SubscribeTaskRequest { task_id: task_id.clone(), after_sequence: *sequence, ..Default::default() };
        let mut stream = tasks.subscribe_task(after).await?;
        while let Some(response) = stream.message().await? {
            if ends_with(response.to_owned_message().event.unwrap(), last) {
                return Ok(());
            }
        }
    } else {
        let mut stream = tasks.stream_message(request.clone()).await?;
        while let Some(response) = stream.message().await? {
            if ends_with(response.to_owned_message().event.unwrap(), last) {
                return Ok(());
            }
        }
    }
    Err(ConnectError::unavailable("the stream ended before the exchange"))
}

/// Whether an event is the last of its exchange: the task waits for its user, or has ended.
fn ends_exchange(event: &TaskEvent) -> bool {
    let is_at_work = event.state == TaskState::Submitted || event.state == TaskState::Working;
    matches!(event.payload, Some(Payload::StateChange(_))) && !is_at_work
}

/// Whether trying again cannot help: a wrong token or a bad request stays wrong.
fn is_final(reason: &ConnectError) -> bool {
    matches!(
        reason.code,
        ErrorCode::Unauthenticated
            | ErrorCode::PermissionDenied
            | ErrorCode::InvalidArgument
            | ErrorCode::NotFound
            | ErrorCode::AlreadyExists
            | ErrorCode::FailedPrecondition
    )
}
