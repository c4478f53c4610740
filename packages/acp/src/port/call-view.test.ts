import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ConfirmationRequestSchema,
  type SlashCommand,
  SlashCommandSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { callView } from "./call-view.ts";
import { availableCommands } from "./commands.ts";
import { permissionOptions } from "./permission.ts";

const FORGED = "Run ls\u001b[2K\u202e";
const VISIBLE = "Run ls\\u{1b}[2K\\u{202e}";

type Details = MessageInitShape<typeof ConfirmationRequestSchema>["details"];

/** A question of a server that does not make its words visible. */
function question(details: Details) {
  const options = [{ id: "proceed_once", name: FORGED, description: FORGED }];
  const confirmationRequest = create(ConfirmationRequestSchema, {
    options,
    ...(details && { details }),
  });
  return create(ToolCallSchema, {
    toolName: FORGED,
    description: FORGED,
    confirmationRequest,
  });
}

describe("the words of a hostile server, for an editor", () => {
  it.each<readonly [Details, string]>([
    [{ case: "genericDetails", value: { description: FORGED } }, VISIBLE],
    [
      {
        case: "executeDetails",
        value: { command: FORGED, workingDirectory: FORGED },
      },
      `${VISIBLE}\n(in ${VISIBLE})`,
    ],
    [
      { case: "mcpDetails", value: { serverName: FORGED, toolName: FORGED } },
      `${VISIBLE} of the MCP server ${VISIBLE}, with the arguments:\n{}`,
    ],
  ])("are visible in a question: %o", (details, text) => {
    const call = question(details);
    expect(callView(call, "/w")).toMatchObject({
      title: VISIBLE,
      name: VISIBLE,
      content: [{ content: { text } }],
    });
    expect(permissionOptions(call)).toMatchObject([
      {
        optionId: "proceed_once",
        name: `Allow once ("${VISIBLE}"): ${VISIBLE}`,
      },
      { optionId: "cancel", name: "Decline" },
    ]);
  });

  it("are visible in slash commands, and none has a name that shows as another one", () => {
    const command = (name: string): SlashCommand =>
      create(SlashCommandSchema, {
        name,
        description: FORGED,
        arguments: [{ name: FORGED }],
      });
    expect(availableCommands([command("help"), command("help\u200b")])).toEqual(
      [{ name: "help", description: VISIBLE, input: { hint: `[${VISIBLE}]` } }],
    );
  });
});
