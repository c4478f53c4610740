import { appendFileSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import {
  content,
  type FakeStep,
  nextCall,
  report,
  send,
  type Word,
} from "./fake-step.ts";

const { client: CLIENT } = acp.methods;

/**
 * The words that ask the client for something: the user's permission, files,
 * terminals.
 */
export const REQUESTS: Readonly<Record<string, Word>> = {
  ask: (step) => ask(step, nextCall(step), step.rest),
  /**
   * Announces the call as running, with its terminal, before it asks, as Codex
   * does.
   */
  codexask: async (step) => {
    const toolCallId = nextCall(step);
    const content = [{ type: "terminal" as const, terminalId: toolCallId }];
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: step.rest,
      kind: "execute",
      status: "in_progress",
      content,
    });
    await ask(step, toolCallId, step.rest);
  },
  /** Announces the call as running before it asks, as opencode does. */
  runask: async (step) => {
    const toolCallId = nextCall(step);
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: step.rest,
      kind: "execute",
      status: "pending",
    });
    await update(step, toolCallId, { status: "in_progress" });
    await ask(step, toolCallId, step.rest);
  },
  /**
   * Asks, and once it is allowed adds a line to a file: `job FILE`. With
   * `job FILE hang` it says nothing after that.
   */
  job: async (step) => {
    const [file = "", end] = step.words;
    const toolCallId = nextCall(step);
    const rawInput = { command: `echo done >> ${file}` };
    const isDone = await isAllowed(step, {
      toolCallId,
      title: file,
      kind: "execute",
      rawInput,
    });
    if (isDone) appendFileSync(absolute(step, file), "done\n");
    if (end === "hang") await new Promise(() => undefined);
    await update(step, toolCallId, { status: isDone ? "completed" : "failed" });
  },
  /**
   * Asks with the options and the call that the line has as JSON, and reports
   * the answer.
   */
  permit: (step) =>
    report(step, () => {
      const toolCallId = nextCall(step);
      const { options, ...call } = JSON.parse(step.rest);
      const toolCall = {
        toolCallId,
        title: "permit",
        kind: "execute" as const,
        ...call,
      };
      return step.client.request(CLIENT.session.requestPermission, {
        sessionId: step.session.id,
        toolCall,
        options,
      });
    }),
  /**
   * Asks the questions of a JSON array at once, without waiting for their
   * answers.
   */
  permits: async (step) => {
    for (const { options, ...toolCall } of JSON.parse(step.rest)) {
      const question = { sessionId: step.session.id, toolCall, options };
      void step.client
        .request(CLIENT.session.requestPermission, question)
        .catch(() => undefined);
    }
  },
  /** Asks, and withdraws the question a moment later. */
  withdraw: (step) =>
    report(step, () => {
      const toolCall = {
        toolCallId: nextCall(step),
        title: step.rest,
        kind: "execute" as const,
      };
      const options = [
        { optionId: "yes", name: "Yes", kind: "allow_once" as const },
      ];
      const question = { sessionId: step.session.id, toolCall, options };
      const cancellationSignal = AbortSignal.timeout(300);
      return step.client.request(CLIENT.session.requestPermission, question, {
        cancellationSignal,
      });
    }),
  /** Asks about several calls at once. */
  asks: async (step) => {
    await Promise.all(
      step.words.map((word) => ask(step, nextCall(step), word)),
    );
  },
  diff: async (step) => {
    const [path = "", newText = ""] = step.words;
    const toolCallId = nextCall(step);
    const change = [
      {
        type: "diff" as const,
        path: join(step.session.cwd, path),
        oldText: null,
        newText,
      },
    ];
    if (
      await isAllowed(step, {
        toolCallId,
        title: `Write ${path}`,
        kind: "edit",
        content: change,
      })
    ) {
      await update(step, toolCallId, { status: "completed", content: change });
    } else {
      await update(step, toolCallId, { status: "failed" });
    }
  },
  write: async (step) => {
    const [path = "", body = ""] = step.words;
    const sessionId = step.session.id;
    await report(step, () =>
      step.client.request(CLIENT.fs.writeTextFile, {
        sessionId,
        path: absolute(step, path),
        content: body,
      }),
    );
  },
  read: async (step) => {
    const sessionId = step.session.id;
    await report(step, () =>
      step.client.request(CLIENT.fs.readTextFile, {
        sessionId,
        path: absolute(step, step.rest),
      }),
    );
  },
  /**
   * Asks about a change and then writes it: `edit PATH CONTENT`, or other
   * content: `edit PATH CONTENT OTHER`.
   */
  edit: async (step) => {
    const [path = "", newText = "", written = newText] = step.words;
    const [sessionId, toolCallId] = [step.session.id, nextCall(step)];
    const change = [
      {
        type: "diff" as const,
        path: absolute(step, path),
        oldText: null,
        newText,
      },
    ];
    if (
      !(await isAllowed(step, {
        toolCallId,
        title: `Edit ${path}`,
        kind: "edit",
        content: change,
      }))
    ) {
      return;
    }
    await report(step, () =>
      step.client.request(CLIENT.fs.writeTextFile, {
        sessionId,
        path: absolute(step, path),
        content: written,
      }),
    );
    await update(step, toolCallId, { status: "completed" });
  },
  /** Asks about a command and then runs it in a terminal of the client. */
  askrun: async (step) => {
    const [sessionId, toolCallId] = [step.session.id, nextCall(step)];
    const rawInput = { command: step.rest };
    if (
      !(await isAllowed(step, {
        toolCallId,
        title: step.rest,
        kind: "execute",
        rawInput,
      }))
    ) {
      return;
    }
    await report(step, async () => {
      await using terminal = await step.client.createTerminal({
        sessionId,
        command: "/bin/sh",
        args: ["-c", step.rest],
      });
      await terminal.waitForExit();
      return terminal.currentOutput();
    });
    await update(step, toolCallId, { status: "completed" });
  },
  /** Runs a command in a terminal of the client: the request as JSON. */
  terminal: (step) =>
    report(step, async () => {
      await using terminal = await step.client.createTerminal({
        sessionId: step.session.id,
        ...JSON.parse(step.rest),
      });
      await terminal.waitForExit();
      return terminal.currentOutput();
    }),
  run: async (step) => {
    const [command = "", ...args] = step.words;
    await report(step, async () => {
      await using terminal = await step.client.createTerminal({
        sessionId: step.session.id,
        command,
        args,
      });
      const toolCallId = nextCall(step);
      await send(step, {
        sessionUpdate: "tool_call",
        toolCallId,
        title: step.rest,
        kind: "execute",
        status: "in_progress",
        content: [{ type: "terminal", terminalId: terminal.id }],
      });
      const { exitCode } = await terminal.waitForExit();
      const { output } = await terminal.currentOutput();
      await update(step, toolCallId, {
        status: exitCode === 0 ? "completed" : "failed",
      });
      return { exitCode, output };
    });
  },
  elicit: (step) =>
    report(step, () =>
      step.client.request(CLIENT.elicitation.create, {
        mode: "form",
        sessionId: step.session.id,
        message: step.rest,
        requestedSchema: {
          type: "object",
          properties: { name: { type: "string" } },
          required: ["name"],
        },
      }),
    ),
  /** Any elicitation, as JSON. */
  form: (step) =>
    report(step, () =>
      step.client.request(CLIENT.elicitation.create, {
        sessionId: step.session.id,
        ...JSON.parse(step.rest),
      }),
    ),
};

/** Sends the changes of a call that was announced. */
function update(
  step: FakeStep,
  toolCallId: string,
  changes: Omit<acp.ToolCallUpdate, "toolCallId">,
): Promise<void> {
  return send(step, {
    sessionUpdate: "tool_call_update",
    toolCallId,
    ...changes,
  });
}

function absolute({ session }: FakeStep, path: string): string {
  return path.startsWith("/") ? path : join(session.cwd, path);
}

async function isAllowed(
  { session, client }: FakeStep,
  toolCall: acp.ToolCallUpdate,
): Promise<boolean> {
  const options: acp.PermissionOption[] = [
    { optionId: "no-thanks", name: "No", kind: "reject_once" },
    { optionId: "yes-please", name: "Yes", kind: "allow_once" },
    { optionId: "yes-always", name: "Always", kind: "allow_always" },
  ];
  const { outcome } = await client.request(CLIENT.session.requestPermission, {
    sessionId: session.id,
    toolCall,
    options,
  });
  return outcome.outcome === "selected" && outcome.optionId !== "no-thanks";
}

async function ask(
  step: FakeStep,
  toolCallId: string,
  title: string,
): Promise<void> {
  const rawInput = { command: title };
  const allowed = await isAllowed(step, {
    toolCallId,
    title,
    kind: "execute",
    status: "pending",
    rawInput,
  });
  if (allowed) {
    await update(step, toolCallId, { status: "in_progress" });
  }
  const outcome = allowed
    ? { status: "completed" as const, content: [content(`ran ${title}`)] }
    : { status: "failed" as const };
  await update(step, toolCallId, outcome);
}
