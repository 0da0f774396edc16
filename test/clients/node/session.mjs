// One session of the TypeScript SDK (v1) with a Gearbox server over stdio or HTTP.
// Usage: node session.mjs COMMAND ARG… | URL TOKEN
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const [command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'typescript-sdk', version: '1' })
await client.connect(
  command.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } })
    : new StdioClientTransport({ command, args, stderr: 'inherit' }),
)

const execute = (input, options) => client.callTool({ name: 'execute', arguments: input }, undefined, options)

const { tools } = await client.listTools()
assert.deepEqual(tools.slice(0, 4).map((tool) => tool.name), ['execute', 'get_operation', 'cancel_operation', 'list_packages'])

const printed = await execute({ code: 'print(6*7)' })
assert.equal(printed.content[0].text, '42\n')
assert.equal(printed.structuredContent.status, 'ok')
assert.equal(printed.isError ?? false, false)

const failed = await execute({ code: '1/0' })
assert.equal(failed.isError, true)
assert.match(failed.content[0].text, /ZeroDivisionError/)

const rejected = await execute({ code: 'print(1)', no_such_argument: 1 })
assert.equal(rejected.isError, true)
assert.equal(rejected.structuredContent.error.code, 'INVALID_ARGUMENT')

const slow = await execute({ code: 'import time; time.sleep(60)', timeout_seconds: 90, wait_seconds: 0 })
assert.equal(slow.structuredContent.status, 'running')
const operation = { operation_id: slow.structuredContent.operation_id }
const cancelled = await client.callTool({ name: 'cancel_operation', arguments: operation })
assert.equal(cancelled.structuredContent.status, 'cancelled')

const controller = new AbortController()
const aborted = execute({ code: 'import time; time.sleep(60)', timeout_seconds: 90 }, { signal: controller.signal })
controller.abort('the user gave up')
await assert.rejects(aborted)
assert.equal((await execute({ code: 'print(6*7)' })).content[0].text, '42\n')

const info = await client.readResource({ uri: 'env://info' })
assert.match(info.contents[0].text, /^Execution Environment Info\nPython Version: 3/)

await client.close()
console.log('ok')
