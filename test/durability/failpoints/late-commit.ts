/**
 * Is loaded into a server by the test of its failpoints: a sabotage. The store
 * says that each commit is durable, and makes few of them so: the
 * server shows and runs what a crash takes back.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";

const ONE_IN = 7;
const { run } = StatementSync.prototype;
const { exec } = DatabaseSync.prototype;
let commits = 0;
let isOpen = false;

/**
 * Whether a statement is left out: most ends of transactions, and the
 * begins that follow them.
 */
function isLeftOut(sql: string): boolean {
  if (/^COMMIT$/.test(sql)) {
    isOpen = ++commits % ONE_IN !== 0;
    return isOpen;
  }
  return isOpen && /^BEGIN IMMEDIATE$/.test(sql);
}

StatementSync.prototype.run = function (...values) {
  return isLeftOut(this.sourceSQL)
    ? { changes: 0, lastInsertRowid: 0 }
    : Reflect.apply(run, this, values);
};

DatabaseSync.prototype.exec = function (sql) {
  if (!isLeftOut(sql)) exec.call(this, sql);
};
