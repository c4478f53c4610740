import { chmodSync, mkdirSync, symlinkSync, utimesSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { startCompanion } from "@devtool/ide";
import {
  type FoundFile,
  findCompanions,
  type Surroundings,
} from "@devtool/ide/operator";
import { ScriptedEditor } from "@devtool/ide/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** What a complaint of a user comes from. */
interface Complaint {
  readonly complaint: string;
  /** Makes it so: changes the files, and says what else is different. */
  make(place: Place): Partial<Surroundings> | undefined;
  readonly verdict: FoundFile["verdict"];
  readonly says: RegExp;
  readonly warning?: RegExp;
}

interface Place {
  readonly home: string;
  readonly workspace: string;
  /** The port of a companion that works, and its token. */
  readonly port: number;
  readonly token: string;
  /** The ports of programs that are none, that hang, and that never end. */
  readonly stranger: number;
  readonly silent: number;
  readonly endless: number;
  /** Writes a file for Gemini CLI. */
  write(pid: number, content: object | string): string;
  content(changes?: object): object;
}

/** Nobody listens at it. */
const CLOSED = 1;

const COMPLAINTS: readonly Complaint[] = [
  {
    complaint: "nothing is wrong",
    make: ({ write, content }) => void write(100, content()),
    verdict: "chosen",
    says: /^Some Editor at 127\.0\.0\.1:\d+$/,
  },
  {
    complaint: "the editor was closed, and its file stayed",
    make: ({ write, content }) => {
      write(666, content({ port: CLOSED }));
      return { isRunning: (pid) => pid !== 666 };
    },
    verdict: "broken",
    says: /^nobody listens at 127\.0\.0\.1:1: start the companion again$/,
  },
  {
    complaint: "the companion does not answer",
    make: ({ write, content, silent }) =>
      void write(100, content({ port: silent })),
    verdict: "broken",
    says: /does not answer: start the companion again$/,
  },
  {
    complaint: "what listens sends its answer without end",
    make: ({ write, content, endless }) =>
      void write(100, content({ port: endless })),
    verdict: "broken",
    says: /does not answer: start the companion again$/,
  },
  {
    complaint: "another program has the port now",
    make: ({ write, content, stranger }) =>
      void write(100, content({ port: stranger })),
    verdict: "broken",
    says: /^another program listens at 127\.0\.0\.1:\d+: remove the file/,
  },
  {
    complaint: "the token is of an earlier start",
    make: ({ write, content }) =>
      void write(100, content({ authToken: "earlier" })),
    verdict: "broken",
    says: /refuses the token of the file \(401\)/,
  },
  {
    complaint: "the agent runs in a container",
    make: ({ write, content }) => {
      write(100, content());
      return {
        isInContainer: true,
        lookup: (_name, options, done) =>
          options.all
            ? done(null, [{ address: "127.0.0.1", family: 4 }])
            : done(null, "127.0.0.1", 4),
      };
    },
    verdict: "broken",
    says: /refuses "host\.docker\.internal" as Host \(403\).*SSH_CONNECTION=1/,
  },
  {
    complaint: "the container does not know its host",
    make: ({ write, content }) => {
      write(100, content());
      return {
        isInContainer: true,
        lookup: (_name, _options, done) =>
          done(new Error("getaddrinfo ENOTFOUND"), ""),
      };
    },
    verdict: "broken",
    says: /^"host\.docker\.internal" is not known in this container/,
  },
  {
    complaint: "the container is entered over SSH",
    make: ({ home, write, content }) => {
      write(100, content());
      const env = { HOME: home, TMPDIR: home, SSH_CONNECTION: "1" };
      return { isInContainer: true, env };
    },
    verdict: "chosen",
    says: /^Some Editor at 127\.0\.0\.1/,
  },
  {
    complaint: "the agent runs in another folder than the editor",
    make: ({ write, content }) =>
      void write(100, content({ workspacePath: "/elsewhere:/far" })),
    verdict: "refused",
    says: /^it is for "\/elsewhere", "\/far": run the agent there, or open ".*" in the editor$/,
  },
  {
    complaint: "no folder is open",
    make: ({ write, content }) =>
      void write(100, content({ workspacePath: "" })),
    verdict: "refused",
    says: /^no folder is open in the editor: open one$/,
  },
  {
    complaint: "Gemini CLI does not know the terminal, nor the file the editor",
    make: ({ write, content }) =>
      void write(100, content({ ideInfo: undefined })),
    verdict: "broken",
    says: /^it does not name its editor/,
  },
  {
    complaint: "the terminal is VS Code's, whose own file names no editor",
    make: ({ home, write, content }) => {
      write(100, content({ ideInfo: undefined }));
      return { env: { HOME: home, TMPDIR: home, TERM_PROGRAM: "vscode" } };
    },
    verdict: "chosen",
    says: /^an editor at/,
  },
  {
    complaint: "the file was half written",
    make: ({ write }) => void write(100, '{"port":'),
    verdict: "refused",
    says: /^it is not valid: remove it/,
  },
  {
    complaint: "the file has a port that is none",
    make: ({ write, content }) => void write(100, content({ port: 99_999 })),
    verdict: "broken",
    says: /^port 99999 is none$/,
  },
  {
    complaint: "another user planted the file",
    make: ({ write, content }) => {
      write(100, content());
      return { user: (process.getuid?.() ?? 0) + 1 };
    },
    verdict: "refused",
    says: /^it belongs to another user \(\d+\), who may have planted it$/,
  },
  {
    complaint: "a directory has the name of a file",
    make: ({ home }) =>
      void mkdirSync(join(home, "gemini/ide/gemini-ide-server-100-2.json"), {
        recursive: true,
      }),
    verdict: "refused",
    says: /^it is not a regular file: remove it$/,
  },
  {
    complaint: "the file leads nowhere",
    make: ({ home }) => {
      mkdirSync(join(home, "gemini/ide"), { recursive: true });
      const path = join(home, "gemini/ide/gemini-ide-server-100-2.json");
      symlinkSync("/nowhere", path);
      return undefined;
    },
    verdict: "refused",
    says: /^it cannot be read: ENOENT/,
  },
  {
    complaint: "others can read the token",
    make: ({ write, content }) => {
      chmodSync(write(100, content()), 0o644);
      return undefined;
    },
    verdict: "chosen",
    says: /^Some Editor/,
    warning: /^other users can read its token \(mode 644\): chmod 600 \//,
  },
];

describe("the doctor of companions", () => {
  const servers: Server[] = [];
  const editor = new ScriptedEditor();
  const listen = async (server: Server): Promise<number> => {
    servers.push(server);
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await promise;
    const address: AddressInfo | string | null = server.address();
    return typeof address === "object" ? (address?.port ?? 0) : 0;
  };
  let companion: Awaited<ReturnType<typeof startCompanion>>;
  let ports = { stranger: 0, silent: 0, endless: 0 };

  beforeAll(async () => {
    const home = temporaryDirectory();
    const env = { HOME: home, TMPDIR: home };
    companion = await startCompanion(editor, { env });
    ports = {
      stranger: await listen(createServer((_, response) => response.end("hi"))),
      silent: await listen(createServer(() => undefined)),
      endless: await listen(
        createServer(({ socket }) => {
          const timer = setInterval(() => {
            socket.write("HTTP/1.1 102 Processing\r\n\r\n");
          }, 100);
          socket.once("close", () => clearInterval(timer));
        }),
      ),
    };
  });
  afterAll(async () => {
    await companion.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  function newPlace(): Place {
    const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
    const { port, environment } = companion;
    const token = String(environment.GEMINI_CLI_IDE_AUTH_TOKEN);
    return {
      home,
      workspace,
      port,
      token,
      ...ports,
      write(pid, content) {
        const path = `gemini/ide/gemini-ide-server-${pid}-${port}.json`;
        const text =
          typeof content === "string" ? content : JSON.stringify(content);
        putFile(home, path, text);
        chmodSync(join(home, path), 0o600);
        return join(home, path);
      },
      content: (changes = {}) => ({
        port,
        workspacePath: workspace,
        authToken: token,
        ideInfo: { name: "some", displayName: "Some Editor" },
        ...changes,
      }),
    };
  }

  const surroundings = ({ home, workspace }: Place): Surroundings => ({
    cwd: join(workspace, "below"),
    env: { HOME: home, TMPDIR: home },
    user: process.getuid?.(),
    isInContainer: false,
    idePid: 100,
    isRunning: () => true,
  });

  it.each(COMPLAINTS)(
    "knows the cause when $complaint",
    async ({ make, verdict, says, warning }) => {
      const place = newPlace();
      const changes = make(place);
      const [gemini, qwen, claude] = await findCompanions({
        ...surroundings(place),
        ...changes,
      });
      expect(gemini?.files).toEqual([
        {
          path: expect.stringContaining(place.home),
          verdict,
          says: expect.stringMatching(says),
          warning: warning ? expect.stringMatching(warning) : "",
        },
      ]);
      expect([qwen?.files, claude?.files]).toEqual([[], []]);
    },
  );

  it("chooses as Gemini CLI does, and shows when a broken file hides one that works", async () => {
    const place = newPlace();
    const { write, content } = place;
    write(100, content({ port: CLOSED }));
    write(300, content());
    write(200, content());
    const verdicts = async (changes: Partial<Surroundings> = {}) => {
      const all = { ...surroundings(place), ...changes };
      const [gemini] = await findCompanions(all);
      return gemini?.files.map(
        ({ path, verdict }) => `${/server-(\d+)/.exec(path)?.[1]} ${verdict}`,
      );
    };
    expect(await verdicts()).toEqual([
      "100 broken",
      "300 passed_over",
      "200 passed_over",
    ]);
    expect(await verdicts({ idePid: 200 })).toEqual([
      "200 chosen",
      "300 passed_over",
      "100 passed_over",
    ]);
    const isRunning = (pid: number): boolean => pid === 200;
    expect((await verdicts({ idePid: undefined, isRunning }))?.[0]).toBe(
      "200 chosen",
    );
  });

  it("takes the old file of its editor as Gemini CLI does, whatever its folders", async () => {
    const place = newPlace();
    const { home, write, content } = place;
    const old = (pid: number, changes: object): void => {
      const path = `gemini/ide/gemini-ide-server-${pid}.json`;
      putFile(home, path, JSON.stringify(content(changes)));
      chmodSync(join(home, path), 0o600);
    };
    write(100, content());
    old(100, { workspacePath: "/elsewhere" });
    old(200, {});
    const [gemini] = await findCompanions(surroundings(place));
    expect(
      gemini?.files.map(({ path, verdict }) => `${basename(path)} ${verdict}`),
    ).toEqual([
      "gemini-ide-server-100.json broken",
      `gemini-ide-server-100-${place.port}.json passed_over`,
      "gemini-ide-server-200.json refused",
    ]);
    expect(gemini?.files.map(({ says }) => says)).toEqual([
      expect.stringMatching(/^it is for "\/elsewhere": run the agent there/),
      expect.anything(),
      "Gemini CLI reads it only in the terminals of process 200, and here of 100: remove it",
    ]);
  });

  it("stops as Gemini CLI does at a file that names no editor", async () => {
    const place = newPlace();
    const { write, content } = place;
    write(100, content({ ideInfo: undefined }));
    write(200, content());
    const [gemini] = await findCompanions(surroundings(place));
    expect(gemini?.files.map(({ verdict }) => verdict)).toEqual([
      "broken",
      "passed_over",
    ]);
  });

  it.each<[string, (place: Place) => object, string[]]>([
    ["there is no file", () => ({}), ["variable chosen"]],
    [
      "the terminal is not known",
      () => ({ TERM_PROGRAM: "" }),
      ["variable broken"],
    ],
    [
      "they are for other folders",
      () => ({ GEMINI_CLI_IDE_WORKSPACE_PATH: "/elsewhere" }),
      ["variable broken"],
    ],
    [
      "nobody listens at the port of the file",
      ({ write, content }) => {
        write(100, content({ port: CLOSED }));
        return { GEMINI_CLI_IDE_AUTH_TOKEN: "of the file counts" };
      },
      ["file broken", "variable chosen"],
    ],
    [
      "the only file is for other folders",
      ({ write, content }) => {
        write(100, content({ workspacePath: "/elsewhere" }));
        return {};
      },
      ["file refused"],
    ],
  ])(
    "uses the variables as Gemini CLI does when %s",
    async (_when, make, expected) => {
      const place = newPlace();
      const { home, workspace, port, token } = place;
      const env = {
        HOME: home,
        TMPDIR: home,
        TERM_PROGRAM: "vscode",
        GEMINI_CLI_IDE_SERVER_PORT: String(port),
        GEMINI_CLI_IDE_WORKSPACE_PATH: workspace,
        GEMINI_CLI_IDE_AUTH_TOKEN: token,
        ...make(place),
      };
      const [gemini] = await findCompanions({ ...surroundings(place), env });
      expect(
        gemini?.files.map(({ path, verdict }) => {
          const isFile = path.startsWith("/");
          return `${isFile ? "file" : "variable"} ${verdict}`;
        }),
      ).toEqual(expected);
    },
  );

  it("chooses as Qwen Code does: the newest that works", async () => {
    const place = newPlace();
    const { home, port, content } = place;
    const write = (name: number, time: number, changes: object): void => {
      putFile(home, `.qwen/ide/${name}.lock`, JSON.stringify(content(changes)));
      chmodSync(join(home, `.qwen/ide/${name}.lock`), 0o600);
      utimesSync(join(home, `.qwen/ide/${name}.lock`), time, time);
    };
    write(1, 30, { port: CLOSED });
    write(2, 20, { port });
    write(3, 10, { port });
    write(4, 40, { port, ppid: 666 });
    const isRunning = (pid: number): boolean => pid !== 666;
    const [, qwen] = await findCompanions({
      ...surroundings(place),
      isRunning,
    });
    expect(
      qwen?.files.map(({ path, verdict }) => `${basename(path)} ${verdict}`),
    ).toEqual([
      "1.lock broken",
      "2.lock chosen",
      "3.lock passed_over",
      "4.lock refused",
    ]);
  });

  it("finds what a companion of ours writes, for every agent", async () => {
    const place = newPlace();
    const env = { HOME: place.home, TMPDIR: place.home };
    const own = await startCompanion(new ScriptedEditor(place.workspace), {
      env,
    });
    const reports = await findCompanions({ ...surroundings(place), env });
    for (const { files } of reports) {
      expect(files).toMatchObject([
        { verdict: "chosen", says: `Scripted Editor at 127.0.0.1:${own.port}` },
      ]);
    }
    await own.close();
  });
});
