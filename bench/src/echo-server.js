/** A server with an agent of one's own, as a user of `@devtool/server` writes it. */
import { createServer } from "@devtool/server";

const [dataDirectory] = process.argv.slice(2);
const echo = {
  about: { name: "Echo", description: "Repeats what it is told." },
  open: () => ({
    createExecutor: () => ({
      async *execute({ task }) {
        const [part] = task.history.at(-1)?.parts ?? [];
        yield { case: "text", value: `You said: ${part?.content.value}` };
      },
    }),
  }),
};
const { url, token } = await createServer({ dataDirectory, agents: { echo } });
console.log(JSON.stringify({ url, token }));
process.on("SIGTERM", () => process.exit());
