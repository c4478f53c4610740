/**
 * Google's server in this process, on a port that the system chooses: prints a
 * line of JSON when it listens, as ours does.
 */
const [, , app = "", workspace = ""] = process.argv;
process.chdir(workspace);
const write = process.stdout.write.bind(process.stdout);
// Its log goes to standard output, and tells the port.
process.stdout.write = (chunk: string | Uint8Array) => {
  const [, port] =
    /Agent Server started on http:\/\/localhost:(\d+)/.exec(String(chunk)) ??
    [];
  if (port) {
    write(
      `${JSON.stringify({ url: `http://127.0.0.1:${port}`, token: "" })}\n`,
    );
  }
  return true;
};
await (await import(app)).main();
