/**
 * A program with tools of its own, as many agents are. It publishes what it is
 * told, if it may. Each message on its standard streams is a line of JSON:
 *
 *     < {"prompt": "Hello"}
 *     > {"say": "…"}
 *     > {"call": "publish", "args": {…}, "ask": "…"}
 *     < {"run": true}            or {"run": false}; with the result if it has run
 *     > {"result": "…"}          once it has run
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const input = createInterface({ input: process.stdin });
const lines = input[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const send = (message) => console.log(JSON.stringify(message));

const { prompt } = await next();
send({ say: `"${prompt}" is ready. ` });
send({ call: "publish", args: { text: prompt }, ask: `Publish "${prompt}"?` });
const { run, result = "" } = await next();
if (run) {
  appendFileSync("published.txt", `${prompt}\n`);
  send({ result: `${prompt.length} characters` });
}
send({ say: run || result !== "" ? "Published." : "Not published." });
input.close();
