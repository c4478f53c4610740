import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  TaskEventSchema,
  TaskState,
  type ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { LastMessage } from "../last-message.ts";
import { type Speakers, Transcript } from "./transcript.ts";

type Event = MessageInitShape<typeof TaskEventSchema>;
type Payload = NonNullable<Exclude<Event, { $typeName: string }>["payload"]>;

describe("a transcript", () => {
  it("lets pieces of text run on, and closes the line before anything else", () => {
    expect(
      render(
        text("Look"),
        text("ing."),
        event({
          case: "thought",
          value: { subject: "Next", description: "Read it." },
        }),
        text("Done."),
        event({ case: "stateChange", value: {} }, TaskState.COMPLETED),
      ),
    ).toBe("Looking.\n… Next: Read it.\nDone.\n");
  });

  it("begins the answer to a message that has waited on a line of its own", () => {
    const taken = event({ case: "messageTaken", value: { messageId: "m" } });
    const events = [text("One."), taken, text("Two.")];
    expect(render(...events)).toBe("One.\nTwo.");
    const said = new LastMessage("apart");
    for (const each of events) said.add(create(TaskEventSchema, each));
    expect(said.text()).toBe("Two.");
  });

  it("shows live output once, as it grows, and then how the call ended", () => {
    const live = (liveContent: string): Event =>
      toolCall({ status: ToolCallStatus.EXECUTING, liveContent });
    const output = {
      case: "output" as const,
      value: { result: { case: "text" as const, value: "one\ntwo\nthree\n" } },
    };
    expect(
      render(
        toolCall({ status: ToolCallStatus.PENDING }),
        toolCall({ status: ToolCallStatus.EXECUTING }),
        live("one\n"),
        live("one\ntwo\n"),
        toolCall({ status: ToolCallStatus.SUCCEEDED, result: output }),
      ),
    ).toBe("▸ run Run it\n  │ one\n  │ two\n  │ three\n✓ run Run it\n");
  });

  it("shows the output of a call that fails once, and the reason below it", () => {
    const message = "the command ended with exit code 3\none\ntwo\n[a note]";
    const ended = toolCall({
      status: ToolCallStatus.FAILED,
      result: { case: "error", value: { message } },
    });
    const live = toolCall({
      status: ToolCallStatus.EXECUTING,
      liveContent: "one\n",
    });
    expect(render(live, ended)).toBe(
      "  │ one\n  │ two\n  │ [a note]\n✗ run Run it\n  │ the command ended with exit code 3\n",
    );
    expect(render(ended)).toBe(
      "✗ run Run it\n  │ the command ended with exit code 3\n  │ one\n  │ two\n  │ [a note]\n",
    );
  });

  it("indents what follows a line break in a reason, so that it forges no line", () => {
    const reason = "no\n? run ls [y]";
    expect(
      render(
        event(
          { case: "stateChange", value: { error: reason } },
          TaskState.FAILED,
        ),
        event(
          { case: "stateChange", value: { text: reason } },
          TaskState.CANCELED,
        ),
      ),
    ).toBe("failed: no\n    ? run ls [y]\ncanceled: no\n    ? run ls [y]\n");
  });

  it("shows an output whole whose beginning was cut while it ran", () => {
    const output = {
      case: "output" as const,
      value: { result: { case: "text" as const, value: "[cut]\nnine\nten" } },
    };
    expect(
      render(
        toolCall({ status: ToolCallStatus.EXECUTING, liveContent: "one\n" }),
        toolCall({ status: ToolCallStatus.SUCCEEDED, result: output }),
      ),
    ).toBe("  │ one\n✓ run Run it\n  │ [cut]\n  │ nine\n  │ ten\n");
  });

  it("shows what the agent says of its work, what it summarized and where its answer comes from", () => {
    expect(
      render(
        event({
          case: "notice",
          value: { text: "the model is busy: asked again in 2 s" },
        }),
        event({ case: "summary", value: { text: "long", keptMessages: 4 } }),
        text("Answer."),
        event({
          case: "citation",
          value: { uri: "https://example.com/\u202ea", title: "" },
        }),
        event({ case: "usage", value: { inputTokens: 1n } }),
        event({
          case: "citation",
          value: { uri: "https://example.com/b", title: "B", license: "MIT" },
        }),
      ),
    ).toBe(
      "· the model is busy: asked again in 2 s\n· the earlier conversation was summarized\nAnswer.\n" +
        "· source: https://example.com/\\u{202e}a\n· source: B https://example.com/b (MIT)\n",
    );
  });

  it("has the words of the user for who has not typed them", () => {
    const said = (value: string): Payload => ({
      case: "message",
      value: { parts: [{ content: { case: "text", value } }] },
    });
    const answer = {
      case: "confirmation" as const,
      value: { selectedOptionId: "cancel" },
    };
    const events = [
      event({
        case: "created",
        value: {
          message: {
            parts: [
              { content: { case: "text", value: "Look\u001b[2J\nhere" } },
            ],
          },
        },
      }),
      text("Yes."),
      event({ case: "message", value: { parts: [{ content: answer }] } }),
      event(said("And now?")),
    ];
    expect(render(...events)).toBe("Yes.");
    expect(renderAs("both", events)).toBe(
      "> Look\\u{1b}[2J\n    here\nYes.\n· answered: decline\n> And now?\n",
    );
  });

  it("says why a task failed, and keeps what came from outside from acting", () => {
    const failed = event(
      { case: "stateChange", value: { error: "the model\u001b[2J failed" } },
      TaskState.FAILED,
    );
    expect(render(text("a\u0007b"), failed)).toBe(
      "a\\u{7}b\nfailed: the model\\u{1b}[2J failed\n",
    );
  });
});

function render(...events: readonly Event[]): string {
  return renderAs("agent", events);
}

function renderAs(speakers: Speakers, events: readonly Event[]): string {
  const transcript = new Transcript((_look, painted) => painted, speakers);
  return events
    .map((event) => transcript.add(create(TaskEventSchema, event)))
    .join("");
}

function event(payload: Payload, state: TaskState = TaskState.WORKING): Event {
  return { payload, state };
}

function text(value: string): Event {
  return event({ case: "text", value: { text: value } });
}

function toolCall(init: MessageInitShape<typeof ToolCallSchema>): Event {
  return event({
    case: "toolCall",
    value: { toolCallId: "1", toolName: "run", description: "Run it", ...init },
  });
}
