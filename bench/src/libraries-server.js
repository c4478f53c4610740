/**
 * The server of Node alone, with what a durable server of ours loads: an open
 * database of SQLite, protobuf and Connect, and the messages that it stores and
 * speaks.
 */
import "node:crypto";
import { DatabaseSync } from "node:sqlite";
import "@bufbuild/protobuf";
import "@bufbuild/protobuf/wkt";
import "@connectrpc/connect";
import "@connectrpc/connect/protocol";
import "@connectrpc/connect/protocol-connect";
import "@devtool/schema";
import "./node-server.js";

const [file] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec("PRAGMA journal_mode = WAL; CREATE TABLE task (id TEXT)");
process.on("exit", () => database.close());
