import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { assertNoEmptyList } from "../a2a-v03/settings.ts";
import { assertExactJson } from "../exact-json.ts";
import {
  type ForwardedProps,
  ForwardedPropsSchema,
  ResumeEntrySchema,
  type RunAgentInput,
  RunAgentInputSchema,
} from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import { parseJson } from "../json-budget.ts";
import { decodeRfcJson } from "../rfc-json.ts";
import { decodeStrictJson } from "../strict-json.ts";
import { missing, mistyped, quote, WireError } from "../wire-error.ts";
import { AG_UI_VERSION } from "./run-end.ts";

/** Decodes the body of a run. Throws a `WireError` if it is invalid. */
export function decodeRunInput(text: string): RunAgentInput {
  const json = parseJson(text);
  assertExactJson(text);
  if (!isObject(json)) throw mistyped("", json, "a JSON object");
  const input = decodeRfcJson(RunAgentInputSchema, json);
  if (input.threadId === "") {
    throw missing("threadId", "choose an id for the thread");
  }
  if (input.runId === "") {
    throw missing("runId", "choose an id that is new for each run");
  }
  // Answers decide what runs, so unknown fields in them are errors.
  const resume = listOrEmpty(json.resume).map((item, index) =>
    decodeStrictJson(ResumeEntrySchema, item, `resume[${index}]`),
  );
  return { ...input, resume };
}

/**
 * Returns what a client sets beyond AG-UI.
 *
 * Throws a `WireError` for input that agents do not take: state, tools, other
 * properties, another version.
 */
export function readForwardedProps(input: RunAgentInput): ForwardedProps {
  const { protocolVersion, tools, state, forwardedProps } = input;
  if (protocolVersion !== "" && !protocolVersion.startsWith("1.")) {
    throw new WireError(
      "protocolVersion",
      quote(protocolVersion),
      `is not served: this server speaks ${AG_UI_VERSION}`,
    );
  }
  if (tools.length > 0) {
    const names = tools.map(({ name }) => name).join(", ");
    throw new WireError(
      "tools",
      quote(names),
      "cannot be called: agents use their own tools and MCP servers, so leave them out, or bring an MCP server in forwardedProps.devtool.sessionSettings.mcpServers",
    );
  }
  // Clients send an empty object, or null, for a state that they do not have.
  const stateJson = state ? toJson(ValueSchema, state) : null;
  if (
    stateJson !== null &&
    !(isObject(stateJson) && Object.keys(stateJson).length === 0)
  ) {
    throw new WireError(
      "state",
      quote(stateJson),
      "cannot be kept: agents have no state to share, so leave it out or send {}",
    );
  }
  const json = forwardedProps
    ? (toJson(ValueSchema, forwardedProps) ?? {})
    : {};
  if (!isObject(json)) throw mistyped("forwardedProps", json, "an object");
  const unknown = Object.keys(json).find((key) => key !== "devtool");
  if (unknown !== undefined) {
    throw new WireError(
      `forwardedProps.${unknown}`,
      "",
      "is unknown to agents: only devtool is read, so leave it out",
    );
  }
  const devtool = json.devtool ?? {};
  assertNoEmptyList(
    objectOrEmpty(objectOrEmpty(devtool).sessionSettings),
    "forwardedProps.devtool.sessionSettings",
  );
  return decodeStrictJson(
    ForwardedPropsSchema,
    devtool,
    "forwardedProps.devtool",
  );
}
