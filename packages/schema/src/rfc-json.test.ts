import { create, type DescFile, type DescMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  file_devtool_a2a_v1alpha_command as command,
  GetAllSlashCommandsResponseSchema,
} from "./gen/devtool/a2a/v1alpha/command_pb.ts";
import { file_devtool_a2a_v1alpha_confirmation as confirmation } from "./gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { TaskSchema as A2aTaskSchema } from "./gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  DevelopmentToolEvent_DevelopmentToolEventKind,
  DevelopmentToolEventSchema,
  file_devtool_a2a_v1alpha_event as event,
} from "./gen/devtool/a2a/v1alpha/event_pb.ts";
import { file_devtool_a2a_v1alpha_settings as settings } from "./gen/devtool/a2a/v1alpha/settings_pb.ts";
import {
  ToolCallSchema,
  ToolCallStatus,
  file_devtool_a2a_v1alpha_tool_call as toolCall,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  decodeRfcJson,
  decodeRfcText,
  encodeRfcJson,
  structFromJson,
} from "./rfc-json.ts";

/** The fields and numbers of the RFC's messages: the contract. */
const CONTRACT = `
AgentSettings{1 workspace_path}
ToolCall{1 tool_call_id, 2 status, 3 tool_name, 4 description, 5 input_parameters, 6 live_content, 7 output, 8 error, 9 confirmation_request}
ToolOutput{1 text, 2 diff, 3 structured_data}
ErrorDetails{1 message, 2 type, 3 status_code}
ConfirmationRequest{1 options, 2 execute_details, 3 file_edit_details, 4 mcp_details, 5 generic_details}
ConfirmationOption{1 id, 2 name, 3 description}
ExecuteDetails{1 command, 2 working_directory}
FileDiff{1 file_name, 2 file_path, 3 old_content, 4 new_content, 5 formatted_diff}
McpDetails{1 server_name, 2 tool_name}
GenericDetails{1 description}
AgentThought{1 subject, 2 description}
DevelopmentToolEvent{1 kind, 2 model, 3 user_tier, 4 error}
ToolCallConfirmation{1 tool_call_id, 2 selected_option_id, 3 file_details}
ModifiedFileDetails{1 new_content}
GetAllSlashCommandsResponse{1 commands}
SlashCommand{1 name, 2 description, 3 arguments, 4 sub_commands}
SlashCommandArgument{1 name, 2 description, 3 is_required}
ExecuteSlashCommandRequest{1 command_path, 2 args}
ExecuteSlashCommandResponse{1 execution_id, 2 status, 3 message}
ToolCallStatus{0 STATUS_UNSPECIFIED, 1 PENDING, 2 EXECUTING, 3 SUCCEEDED, 4 FAILED, 5 CANCELLED}
DevelopmentToolEventKind{0 DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED, 1 TOOL_CALL_CONFIRMATION, 2 TOOL_CALL_UPDATE, 3 TEXT_CONTENT, 4 STATE_CHANGE, 5 THOUGHT}
CommandExecutionStatus{0 COMMAND_EXECUTION_STATUS_UNSPECIFIED, 1 STARTED, 2 FAILED_TO_START, 3 AWAITING_SHELL_CONFIRMATION, 4 AWAITING_ACTION_CONFIRMATION}
`;
const FILES: readonly DescFile[] = [
  settings,
  toolCall,
  event,
  confirmation,
  command,
];

describe("the RFC's messages", () => {
  const messages = FILES.flatMap((file) => file.messages);

  it("have the names and numbers of the contract", () => {
    const own = messages.map(
      ({ name, fields }) =>
        `${name}{${fields.map((field) => `${field.number} ${field.name}`).join(", ")}}`,
    );
    const enums = [
      ...FILES.flatMap((file) => file.enums),
      ...messages.flatMap(({ nestedEnums }) => nestedEnums),
    ];
    const values = enums.map(
      ({ name, values }) =>
        `${name}{${values.map((value) => `${value.number} ${value.name}`).join(", ")}}`,
    );
    expect([...own, ...values].sort()).toEqual(
      CONTRACT.trim().split("\n").sort(),
    );
  });

  it("have the RFC's names in the JSON of every language (JSON-1)", () => {
    const renamed = messages.flatMap((message: DescMessage) =>
      message.fields.filter(({ jsonName, name }) => jsonName !== name),
    );
    expect(renamed.map(({ name }) => name)).toEqual([]);
  });
});

describe("decodeRfcJson (JSON-2)", () => {
  const wanted = {
    tool_call_id: "c",
    status: "PENDING",
    tool_name: "",
    confirmation_request: {
      options: [{ id: "x", name: "" }],
      file_edit_details: { file_name: "", file_path: "p", new_content: "" },
    },
  };

  it("reads snake_case and lowerCamelCase, at every depth", () => {
    const camel = {
      toolCallId: "c",
      status: 1,
      confirmationRequest: {
        options: [{ id: "x" }],
        fileEditDetails: { filePath: "p" },
      },
    };
    expect(
      encodeRfcJson(ToolCallSchema, decodeRfcJson(ToolCallSchema, camel)),
    ).toEqual(wanted);
    expect(
      encodeRfcJson(ToolCallSchema, decodeRfcJson(ToolCallSchema, wanted)),
    ).toEqual(wanted);
  });

  it("keeps the keys of a Struct", () => {
    const call = decodeRfcJson(ToolCallSchema, {
      inputParameters: { toolCallId: 1, tool_name: { fileName: 2 } },
    });
    expect(call.inputParameters).toEqual({
      toolCallId: 1,
      tool_name: { fileName: 2 },
    });
  });

  it("ignores unknown fields, and reads unknown enum names as the zero value", () => {
    const call = decodeRfcJson(ToolCallSchema, {
      status: "INVENTED_LATER",
      brand_new: { x: 1 },
    });
    expect(call.status).toBe(ToolCallStatus.STATUS_UNSPECIFIED);
  });

  it("rejects invalid values, and names the field", () => {
    expect(() => decodeRfcJson(ToolCallSchema, { tool_call_id: 7 })).toThrow(
      "tool_call_id must be a string, got 7",
    );
    expect(() => decodeRfcJson(ToolCallSchema, [])).toThrow(
      "expected a JSON object, got []",
    );
    const request = {
      confirmationRequest: { options: [{ id: "a" }, { id: 7 }] },
    };
    expect(() => decodeRfcJson(ToolCallSchema, request, "data")).toThrow(
      "data.confirmationRequest.options[1].id must be a string, got 7",
    );
    expect(() =>
      decodeRfcJson(ToolCallSchema, { tool_call_id: ["x".repeat(99)] }),
    ).toThrow(/x{77}…$/);
    expect(() => decodeRfcText(ToolCallSchema, "{")).toThrow(
      "is not valid JSON",
    );
  });

  it("rejects documents that are too large, too deep or too wide, and states the limit", () => {
    const limits = { maxBytes: 1000, maxDepth: 8, maxNodes: 50 };
    const text = (value: unknown) =>
      JSON.stringify({ input_parameters: { value } });
    expect(() =>
      decodeRfcText(ToolCallSchema, text("x".repeat(1000)), limits),
    ).toThrow("limit is 1000");
    expect(() =>
      decodeRfcText(ToolCallSchema, `${"[".repeat(9)}${"]".repeat(9)}`, limits),
    ).toThrow("limit is 8");
    expect(() =>
      decodeRfcText(ToolCallSchema, text(Array(60).fill({})), limits),
    ).toThrow("limit is 50");
    expect(() => decodeRfcText(ToolCallSchema, "[".repeat(500_000))).toThrow(
      "limit is 64",
    );
  });
});

describe("encodeRfcJson (JSON-2)", () => {
  it("writes default values of fields that are not optional in the RFC, at every depth", () => {
    const commands = [
      { name: "stats", description: "", arguments: [{ name: "x" }] },
    ];
    expect(
      encodeRfcJson(
        GetAllSlashCommandsResponseSchema,
        create(GetAllSlashCommandsResponseSchema, { commands }),
      ),
    ).toEqual({
      commands: [
        {
          name: "stats",
          description: "",
          arguments: [{ name: "x", description: "", is_required: false }],
          sub_commands: [],
        },
      ],
    });
    const emptied = {
      case: "fileEditDetails" as const,
      value: { fileName: "f", filePath: "/w/f", oldContent: "old" },
    };
    const call = create(ToolCallSchema, {
      toolCallId: "c",
      confirmationRequest: { details: emptied },
    });
    expect(encodeRfcJson(ToolCallSchema, call)).toEqual({
      tool_call_id: "c",
      status: "STATUS_UNSPECIFIED",
      tool_name: "",
      confirmation_request: {
        options: [],
        file_edit_details: {
          file_name: "f",
          file_path: "/w/f",
          old_content: "old",
          new_content: "",
        },
      },
    });
  });

  it("omits the empty tier and error of an event, and default values in messages of A2A", () => {
    const thought = create(DevelopmentToolEventSchema, {
      kind: DevelopmentToolEvent_DevelopmentToolEventKind.THOUGHT,
    });
    expect(encodeRfcJson(DevelopmentToolEventSchema, thought)).toEqual({
      kind: "THOUGHT",
      model: "",
    });
    expect(
      encodeRfcJson(A2aTaskSchema, create(A2aTaskSchema, { id: "t" })),
    ).toEqual({ id: "t" });
  });
});

describe("structFromJson (JSON-3)", () => {
  it("writes integers that a double cannot represent as strings", () => {
    expect(
      structFromJson({
        big: 2n ** 60n,
        unsafe: 2 ** 53,
        safe: 2 ** 53 - 1,
        list: [1n],
        not: Number.NaN,
        half: 0.5,
      }),
    ).toEqual({
      big: "1152921504606846976",
      unsafe: "9007199254740992",
      safe: 9007199254740991,
      list: ["1"],
      half: 0.5,
    });
  });
});
