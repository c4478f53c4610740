//! An agent on the official Rust SDK for A2A 1.0, in all its bindings.

use std::{collections::HashMap, env, fs, io::Read, sync::Arc, thread, time::Duration};

use a2a::*;
use a2a_grpc::GrpcHandler;
use a2a_server::agent_card::agent_card_router;
use a2a_server::jsonrpc::jsonrpc_router;
use a2a_server::rest::rest_router;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryPushConfigStore, InMemoryTaskStore, StaticAgentCard,
};
use async_stream::stream;
use axum::Router;
use futures::stream::{self, BoxStream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// One step of what the agent does; every server of the interop tests plays the same.
#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Step {
    state: Option<String>,
    kind: Option<String>,
    text: Option<String>,
    data: Option<Value>,
    message: Option<String>,
    artifact: Option<String>,
    wait_ms: Option<u64>,
    hold: bool,
}

struct Player {
    scripts: HashMap<String, Vec<Step>>,
    extension: String,
}

impl Player {
    fn event(extension: &str, task_id: &str, context_id: &str, step: &Step) -> Result<StreamResponse, A2AError> {
        let (task_id, context_id) = (task_id.to_string(), context_id.to_string());
        if let Some(made) = &step.artifact {
            let artifact = Artifact {
                artifact_id: new_artifact_id(),
                name: None,
                description: None,
                parts: vec![Part::text(made)],
                metadata: None,
                extensions: None,
            };
            let update = TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append: None,
                last_chunk: Some(true),
                metadata: None,
            };
            return Ok(StreamResponse::ArtifactUpdate(update));
        }
        let name = step.state.clone().unwrap_or_default().replace('-', "_").to_uppercase();
        let state = serde_json::from_value(json!(format!("TASK_STATE_{name}")))
            .map_err(|error| A2AError::internal(error.to_string()))?;
        let text = step.text.iter().map(Part::text);
        let parts: Vec<_> = text.chain(step.data.iter().cloned().map(Part::data)).collect();
        let message = (!parts.is_empty()).then(|| Message::new(Role::Agent, parts));
        let kind = step.kind.as_ref().map(|kind| json!({"kind": kind, "model": "interop"}));
        Ok(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id,
            context_id,
            status: TaskStatus { state, message, timestamp: None },
            metadata: kind.map(|kind| HashMap::from([(extension.to_string(), kind)])),
        }))
    }
}

impl AgentExecutor for Player {
    fn execute(&self, ctx: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let said = ctx.message.as_ref().and_then(Message::text).unwrap_or("answer");
        let steps = self.scripts.get(said).cloned().unwrap_or_default();
        let extension = self.extension.clone();
        let (task_id, context_id) = ctx.task_info();
        if let Some(text) = steps.first().and_then(|step| step.message.clone()) {
            let mut answer = Message::new(Role::Agent, vec![Part::text(text)]);
            answer.context_id = Some(context_id);
            return Box::pin(stream::once(async { Ok(StreamResponse::Message(answer)) }));
        }
        let opened = ctx.stored_task.is_none().then(|| opened(&ctx));
        Box::pin(stream! {
            if let Some(task) = opened {
                yield Ok(StreamResponse::Task(task));
            }
            if steps.is_empty() {
                yield Err(A2AError::internal("nothing is known of this"));
            }
            for step in steps {
                if step.hold {
                    futures::future::pending::<()>().await;
                }
                match step.wait_ms {
                    Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                    None => yield Player::event(&extension, &task_id, &context_id, &step),
                }
            }
        })
    }

    fn cancel(&self, ctx: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let (task_id, context_id) = ctx.task_info();
        let status = TaskStatus { state: TaskState::Canceled, message: None, timestamp: None };
        let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata: None };
        Box::pin(stream::once(async { Ok(StreamResponse::StatusUpdate(update)) }))
    }
}

fn opened(ctx: &ExecutorContext) -> Task {
    Task {
        id: ctx.task_id.clone(),
        context_id: ctx.context_id.clone(),
        status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
        artifacts: None,
        history: Some(ctx.message.iter().cloned().collect()),
        metadata: None,
    }
}

/// Whether the card claims a capability, or the extension.
fn claims(name: &str) -> bool {
    env::var("INTEROP_CLAIMS").map_or(true, |names| names.split(' ').any(|each| each == name))
}

fn card(url: &str, rpc: &str, extension: &str) -> AgentCard {
    let extension = AgentExtension { uri: extension.into(), description: None, required: None, params: None };
    AgentCard {
        name: "interop".into(),
        description: "Plays what the interop tests ask for.".into(),
        version: "1.0.0".into(),
        supported_interfaces: vec![
            AgentInterface::new(format!("{url}/rpc"), TRANSPORT_PROTOCOL_JSONRPC),
            AgentInterface::new(format!("{url}/rest"), TRANSPORT_PROTOCOL_HTTP_JSON),
            AgentInterface::new(rpc, TRANSPORT_PROTOCOL_GRPC),
        ],
        capabilities: AgentCapabilities {
            streaming: Some(claims("streaming")),
            push_notifications: Some(claims("push")),
            extensions: claims("extension").then(|| vec![extension]),
            extended_agent_card: None,
        },
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        skills: vec![],
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_schemes: None,
        security_requirements: None,
        signatures: None,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scripts = serde_json::from_str(&fs::read_to_string(env::var("INTEROP_SCRIPT")?)?)?;
    let extension = env::var("INTEROP_EXTENSION")?;
    let (web, rpc) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    let url = format!("http://{}", web.local_addr()?);
    let card = card(&url, &format!("http://{}", rpc.local_addr()?), &extension);
    let handler = DefaultRequestHandler::new(Player { scripts, extension }, InMemoryTaskStore::new())
        .with_push_config_store(InMemoryPushConfigStore::new());
    let handler = Arc::new(handler.with_capabilities(card.capabilities.clone()));
    let app = Router::new()
        .nest("/rpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler.clone()))
        .merge(agent_card_router(Arc::new(StaticAgentCard::new(card))));
    let service = a2a_pb::proto::a2a_service_server::A2aServiceServer::new(GrpcHandler::new(handler));
    let incoming = tonic::transport::server::TcpIncoming::from(rpc);
    tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));
    println!("{url}");
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut vec![]);
        std::process::exit(0);
    });
    Ok(axum::serve(web, app).await?)
}
