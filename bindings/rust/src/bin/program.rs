//! The program under test: see docs/test-kits.md.

use buffa::Message;
use buffa::json::{JsonParseOptions, with_json_parse_options};
use devtool_bindings::converse::converse;
use devtool_bindings::devtool::a2a::v1alpha as a2a;
use devtool_bindings::devtool::conformance::v1alpha::__buffa::oneof::{program_request::Work, program_response::Outcome};
use devtool_bindings::devtool::conformance::v1alpha::{ProgramRequest, ProgramResponse};
use serde::{Serialize, de::DeserializeOwned};
use std::error::Error;
use std::io::{Read, Write};

type Fallible<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible<()> {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    while let Some(request) = read(&mut stdin)? {
        let outcome = answer(request).await.unwrap_or_else(|reason| Outcome::Refused(reason.to_string()));
        let response = ProgramResponse { outcome: Some(outcome), ..Default::default() };
        let mut bytes = Vec::new();
        response.encode_length_delimited(&mut bytes);
        stdout.write_all(&bytes)?;
        stdout.flush()?;
    }
    Ok(())
}

/// Reads a message behind its length, or nothing at the end.
fn read(input: &mut impl Read) -> Fallible<Option<ProgramRequest>> {
    let (mut length, mut shift, mut byte) = (0usize, 0, [0u8]);
    loop {
        if input.read(&mut byte)? == 0 {
            return Ok(None);
        }
        length |= usize::from(byte[0] & 0x7f) << shift;
        shift += 7;
        if byte[0] < 0x80 {
            break;
        }
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(Some(ProgramRequest::decode_from_slice(&bytes)?))
}

async fn answer(request: ProgramRequest) -> Fallible<Outcome> {
    match request.work {
        Some(Work::ReadJson(work)) => Ok(Outcome::Binary(codec_of(&work.r#type)?.binary(&work.json)?.into())),
        Some(Work::ReadBinary(work)) => Ok(Outcome::Json(codec_of(&work.r#type)?.json(&work.binary)?)),
        Some(Work::Converse(work)) => Ok(converse(*work, 1).await?.into()),
        Some(Work::Resume(work)) => Ok(converse(*work, 5).await?.into()),
        _ => Ok(Outcome::Unsupported("a kind of work that this program does not know".into())),
    }
}

/// Reads and writes messages of one type.
trait Codec {
    fn binary(&self, json: &str) -> Fallible<Vec<u8>>;
    fn json(&self, binary: &[u8]) -> Fallible<String>;
}

impl<M: Message + Serialize + DeserializeOwned> Codec for std::marker::PhantomData<M> {
    fn binary(&self, json: &str) -> Fallible<Vec<u8>> {
        // Unknown fields are left out by default, unknown names of enums when told so.
        let options = JsonParseOptions::new().ignore_unknown_enum_values(true);
        Ok(with_json_parse_options(&options, || serde_json::from_str::<M>(json))?.encode_to_vec())
    }

    fn json(&self, binary: &[u8]) -> Fallible<String> {
        Ok(serde_json::to_string(&M::decode_from_slice(binary)?)?)
    }
}

fn codec_of(name: &str) -> Fallible<Box<dyn Codec>> {
    macro_rules! find {
        ($($message:ident)*) => {
            match name {
                $(concat!("devtool.a2a.v1alpha.", stringify!($message)) => {
                    Ok(Box::new(std::marker::PhantomData::<a2a::$message>))
                })*
                _ => Err(format!("type {name:?} is not known").into()),
            }
        };
    }
    find!(
        AgentSettings AgentThought ConfirmationOption ConfirmationRequest DevelopmentToolEvent ErrorDetails
        ExecuteDetails ExecuteSlashCommandRequest ExecuteSlashCommandResponse FileDiff GenericDetails
        GetAllSlashCommandsResponse McpDetails ModifiedFileDetails SlashCommand SlashCommandArgument ToolCall
        ToolCallConfirmation ToolOutput
    )
}
