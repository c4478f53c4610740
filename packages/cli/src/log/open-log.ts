import type { ServerConfig } from "@devtool/schema/operator";
import { LogFormat, LogLevel } from "@devtool/schema/operator";
import { type Io, isTerminal } from "../io.ts";
import { paintFor } from "../render/style.ts";
import { jsonText, prettyText } from "./line-text.ts";
import type { Level } from "./log-lines.ts";
import { ServerLog } from "./server-log.ts";

const CONFIGURED: Readonly<Record<LogLevel, Level>> = {
  [LogLevel.UNSPECIFIED]: "info",
  [LogLevel.DEBUG]: "debug",
  [LogLevel.INFO]: "info",
  [LogLevel.WARN]: "warn",
  [LogLevel.ERROR]: "error",
};

/** Opens the log of a server on standard error. A flag overrides the file. */
export function openLog(
  flag: Level | undefined,
  { log }: Pick<ServerConfig, "log">,
  io: Pick<Io, "stderr" | "stdout" | "env">,
): ServerLog {
  const { stderr: stream } = io;
  const format = log?.format ?? LogFormat.UNSPECIFIED;
  const isPretty =
    format === LogFormat.PRETTY ||
    (format === LogFormat.UNSPECIFIED && isTerminal(stream));
  return new ServerLog({
    stream,
    level: flag ?? CONFIGURED[log?.level ?? LogLevel.UNSPECIFIED],
    text: isPretty ? prettyText(paintFor(io, stream)) : jsonText,
    timers: {
      now: Date.now,
      after: (ms, run) => void setTimeout(run, ms).unref(),
    },
    elapsedMs: () => performance.now(),
  });
}
