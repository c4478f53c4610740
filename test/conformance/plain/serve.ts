/**
 * Serves a plain agent over A2A, with the fault of `faults.ts` that is named,
 * for any kit. It asks for no credentials.
 *
 *     node test/conformance/plain/serve.ts ["a task ends twice"]
 */
import { PLAIN_FAULTS } from "./faults.ts";
import { PlainServer } from "./server.ts";

const [name] = process.argv.slice(2);
const fault = PLAIN_FAULTS.find((one) => one.fault === name);
if (name !== undefined && fault === undefined) {
  throw new Error(
    `"${name}" is not a fault: choose from ${PLAIN_FAULTS.map((one) => one.fault).join(", ")}`,
  );
}
const server = new PlainServer({
  protocolVersion: /^A2A03|^STREAM/.test(fault?.requirement ?? "")
    ? "0.3"
    : "1.0",
  binding: "JSONRPC",
  isBare: false,
  ...fault?.way,
});
server.isAllowed = () => true;
const card = server.card.bind(server);
server.card = () => {
  const {
    securityRequirements: _needs,
    security: _need,
    securitySchemes: _ways,
    ...open
  } = card();
  return open;
};
fault?.plant(server);
await server.listen();
process.stdout.write(`${server.url}\n`);
