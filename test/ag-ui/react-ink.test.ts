import { once } from "node:events";
import { PassThrough } from "node:stream";
import { createRouterTransport } from "@connectrpc/connect";
import {
  type AskedToolCall,
  createDevtoolClient,
  type DevtoolClient,
  type TaskItem,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  describeToolCall,
  MessageList,
  type TaskActions,
  useAgents,
  useApproval,
  useSessions,
  useTask,
} from "@devtool/react";
import { TaskService, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { render, Text } from "ink";
import { createElement, type ReactElement, useEffect, useState } from "react";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

describe("React in a terminal, with Ink", () => {
  let workspace: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
  });
  afterAll(() => server.close());

  it("shows a task, approves with a change, and lists the session", async () => {
    const client = clientOf(server);
    const screen = show(
      createElement(Session, {
        client,
        prompt: "write ink.txt proposed\ntext Done here.",
      }),
    );
    await expect.poll(screen.text).toContain("ask write_file edit=true");
    await expect.poll(screen.text).toContain("Done here.");
    await expect.poll(screen.text).toMatch(/call .*: succeeded by ink/);
    await expect.poll(screen.text).toContain("state COMPLETED");
    await expect.poll(screen.text).toContain("sessions 1 agents devtool");
    expect(fileText(workspace, "ink.txt")).toBe("changed in Ink");
    screen.unmount();
  });

  it("shows why a message is refused, and rejects nothing", async () => {
    const client = clientOf({ ...server, token: "wrong" });
    const screen = show(
      createElement(Session, { client, prompt: "text Never." }),
    );
    await expect.poll(screen.text).toContain("failure [unauthenticated]");
    await expect
      .poll(screen.text)
      .toContain(
        "not listed: sessions [unauthenticated], agents [unauthenticated]",
      );
    screen.unmount();
  });

  it("loads older sessions although the list changes meanwhile", async () => {
    const asked = Promise.withResolvers<void>();
    const shown = Promise.withResolvers<void>();
    const transport = createRouterTransport(({ service }) =>
      service(TaskService, {
        async *watchTasks(_request, { signal }) {
          yield { snapshotComplete: true };
          await asked.promise;
          yield { task: { id: "new", lastEvent: { sequence: 1n } } };
          await once(signal, "abort");
        },
        async listTasks() {
          asked.resolve();
          await shown.promise;
          return { tasks: [{ id: "old", lastEvent: { sequence: 1n } }] };
        },
      }),
    );
    const screen = show(
      createElement(OlderSessions, { client: createDevtoolClient(transport) }),
    );
    await expect.poll(screen.text).toContain("sessions new");
    shown.resolve();
    await expect.poll(screen.text).toMatch(/sessions \w+ \w+ loaded true/);
    screen.unmount();
  });
});

/** Asks for older sessions at once. */
function OlderSessions({
  client,
}: {
  readonly client: DevtoolClient;
}): ReactElement {
  const { sessions, isLoaded, loadMore } = useSessions(client);
  const [result, setResult] = useState("");
  useEffect(() => {
    if (isLoaded) {
      void loadMore().then((isDone) => setResult(`loaded ${isDone}`));
    }
  }, [isLoaded, loadMore]);
  return createElement(
    Text,
    {},
    `sessions ${sessions.map(({ id }) => id).join(" ")} ${result}`,
  );
}

interface SessionProps {
  readonly client: DevtoolClient;
  readonly prompt: string;
}

function Session({ client, prompt }: SessionProps): ReactElement {
  const { items, questions, task, failure, send, answer } = useTask(client, {
    clientLabel: "ink",
  });
  const { sessions, error: noSessions } = useSessions(client);
  const { agents, error: noAgents } = useAgents(client);
  useEffect(() => void send(prompt), [send, prompt]);
  const names = agents.map(({ displayName }) => displayName).join();
  return createElement(
    Text,
    {},
    createElement(MessageList, { items, renderItem: itemLine }),
    questions.map((call) =>
      createElement(Question, { key: call.toolCallId, call, answer }),
    ),
    `state ${TaskState[task.state]} sessions ${sessions.length} agents ${names} failure ${failure?.message}`,
    ` not listed: sessions ${reasonOf(noSessions)}, agents ${reasonOf(noAgents)}`,
  );
}

/** Returns the code of an error, as its message begins. */
function reasonOf(error: Error | undefined): string {
  return /^\[\w+\]/.exec(error?.message ?? "")?.[0] ?? "none";
}

function itemLine({ part }: TaskItem): string {
  const display = describeToolCall(part);
  if (display) {
    return `call ${display.title}: ${display.status} by ${display.answerer?.clientLabel}\n`;
  }
  return part.content.case === "text" ? `${part.content.value}\n` : "";
}

/** A question that changes what is proposed, and then approves it. */
function Question({
  call,
  answer,
}: {
  call: AskedToolCall;
  answer: TaskActions["answer"];
}): string {
  const { canEdit, isEdited, isAnswering, edit, choose } = useApproval(
    call,
    answer,
  );
  useEffect(() => {
    if (!isEdited) {
      edit("changed in Ink");
    } else if (!isAnswering) {
      void choose("proceed_once");
    }
  });
  return `ask ${call.toolName} edit=${canEdit}\n`;
}

/** Renders to a stream, and returns all that was written to it. */
function show(element: ReactElement): {
  readonly text: () => string;
  unmount(): void;
} {
  const written: string[] = [];
  const stdout = Object.assign(new PassThrough(), { columns: 200, rows: 50 });
  stdout.on("data", (chunk) => written.push(String(chunk)));
  const output: unknown = stdout;
  const { unmount } = render(element, {
    stdout: isTerminal(output) ? output : process.stdout,
    debug: true,
  });
  return { text: () => written.join(""), unmount };
}

/** Ink asks for the type of a terminal, and needs no more of one than this. */
function isTerminal(stream: unknown): stream is NodeJS.WriteStream {
  return stream instanceof PassThrough;
}
