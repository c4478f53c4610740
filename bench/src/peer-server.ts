/**
 * Google's server in this process, on a free port: prints a line of JSON when
 * its card answers, as ours does.
 */
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

const [, , app = "", workspace = ""] = process.argv;
const port = await freePort();
process.env.CODER_AGENT_PORT = String(port);
process.chdir(workspace);
const write = process.stdout.write.bind(process.stdout);
// Its log goes to standard output.
process.stdout.write = () => true;
await (await import(app)).main();
const url = `http://127.0.0.1:${port}`;
const hasCard = () =>
  fetch(`${url}/.well-known/agent-card.json`).then(
    ({ ok }) => ok,
    () => false,
  );
while (!(await hasCard())) await delay(5);
write(`${JSON.stringify({ url, token: "" })}\n`);

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") {
    throw new Error("no port is free");
  }
  return address.port;
}
