/**
 * An Express application with an agent below `/api`. In a clone that was built:
 * `node examples/express/app.ts [port [origin of a web page that may call]]`
 */
import { type Agent, createHandler } from "@devtool/server";
import express from "express";

/** The agent: says what it is told, after asking. */
const agent: Agent = {
  about: {
    name: "Echo",
    description: "Repeats what it is told, after asking.",
  },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn, signal) {
        const content = turn.prompt?.parts[0]?.content;
        const text = content?.case === "text" ? content.value : "";
        const call = {
          toolName: "repeat",
          args: { text },
          ask: `Repeat "${text}"?`,
          run: () => text,
        };
        const outcome = yield* turn.call(call, signal);
        yield* turn.say(
          outcome.case === "succeeded"
            ? `You said: ${outcome.output}`
            : "Not repeated.",
        );
      },
    }),
  }),
};

const [port = "3000", ...pages] = process.argv.slice(2);
const agents = await createHandler({
  agents: { echo: agent },
  publicUrl: `http://127.0.0.1:${port}/api`,
  workspace: process.cwd(),
  allowedOrigins: pages,
});

const app = express();
// Before what reads bodies: the handler reads them itself.
app.use("/api", agents.listener);
app.use(express.json());
app.get("/", (_request, response) => void response.send("The application."));

const server = app.listen(Number(port), "127.0.0.1", () => {
  process.stdout.write(
    `The agent is served at ${agents.publicUrl} with the token ${agents.token}\n`,
  );
});
process.once("SIGTERM", async () => {
  // The agents first: their streams end with what became of them, while the
  // application still runs.
  await agents.close();
  process.stdout.write("The agents have ended.\n");
  server.close();
});
