import type { JsonObject } from "@bufbuild/protobuf";
import { snakeCase } from "@devtool/internal/snake-case";
import { WireError } from "@devtool/schema";
import { encodeRunError } from "@devtool/schema/ag-ui";
import { Code, DevtoolError, withFieldNames } from "../../errors.ts";

const DEVTOOL = "forwardedProps.devtool";

/** The fields of runs by those of the requests that they become. */
const FIELDS: Readonly<Record<string, string>> = {
  "message.message_id": "messages[].id",
  "message.parts": "messages[].content",
  task_id: "threadId",
  context_id: "threadId",
  tool_call_id: "resume[].interruptId",
  shown_digest: "resume[].interruptId",
  selected_option_id: "resume[].payload.option",
  file_details: "resume[].payload.newContent",
  modified_arguments: "resume[].payload.editedArgs",
  workspace_path: `${DEVTOOL}.settings.workspace_path`,
  allowed_tools: `${DEVTOOL}.sessionSettings.allowedTools`,
  mcp_servers: `${DEVTOOL}.sessionSettings.mcpServers`,
  "session_settings.agent": `${DEVTOOL}.sessionSettings.agent`,
  "session_settings.approval_mode": `${DEVTOOL}.sessionSettings.approvalMode`,
  model: `${DEVTOOL}.sessionSettings.model`,
  "session_settings.agent_options": `${DEVTOOL}.sessionSettings.agentOptions`,
  session_settings: `${DEVTOOL}.sessionSettings`,
  "message_settings.client_label": `${DEVTOOL}.messageSettings.clientLabel`,
  "message_settings.turn": `${DEVTOOL}.messageSettings.turn`,
  "message_settings.goal": `${DEVTOOL}.messageSettings.goal`,
  "message_settings.fork": `${DEVTOOL}.messageSettings.fork`,
};

/**
 * Returns the event that ends a run with an error, in the words of AG-UI. An
 * error that is not the client's fault goes to `onError` too.
 */
export function errorEvent(
  reason: unknown,
  onError: (reason: unknown) => void,
): JsonObject {
  if (reason instanceof WireError) {
    return encodeRunError(reason.message, "invalid_argument");
  }
  const { field = "" } =
    (reason instanceof DevtoolError && reason.details) || {};
  // A field that is inside of one with another name in runs.
  const above =
    Object.keys(FIELDS).find(
      (name) => field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
    ) ?? "";
  const below =
    above === "" || FIELDS[field] !== undefined
      ? {}
      : { [field]: `${FIELDS[above]}${field.slice(above.length)}` };
  const { code, message } = DevtoolError.from(
    withFieldNames(reason, { ...FIELDS, ...below }),
  );
  if (code === Code.Internal) onError(reason);
  // As Connect writes codes: `invalid_argument`.
  return encodeRunError(message, snakeCase(Code[code]));
}
