import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { modelLines } from "../render/model-lines.ts";

/** The options of `devtool models`. */
interface ModelsOptions extends ConnectionOptions {
  /** The name of the agent. Default: the server's first. */
  readonly agent?: string;
}

/** `devtool models`: lists the models that sessions of an agent can choose. */
export async function models(
  { agent = "", ...connection }: ModelsOptions,
  io: Io,
): Promise<number> {
  const client = await connect(connection, io);
  const { models: listed } = await client.agents.listModels({ agent });
  for (const line of modelLines(listed)) writeLine(io.stdout, line);
  if (listed.length === 0) {
    writeLine(
      io.stderr,
      "the agent lists no models: choose one by its name, as in: devtool run --model NAME",
    );
  }
  return ExitCode.OK;
}
