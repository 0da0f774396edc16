// What every version of the TypeScript SDK does with a Gearbox server over HTTP.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'

const sleep = (seconds) => `import time; time.sleep(${seconds})`
const code = (answer) => answer.structuredContent.error?.code

// given reads what the test says: { url, api, token, other, doomed, revoke }.
export const given = () => JSON.parse(process.env.GEARBOX_CLIENT)

// scenario runs with connect(token), which resolves to { client, call, close }. How a
// client calls a tool differs between the versions: call(name, arguments, options).
export async function scenario(connect) {
  const { api, token, other, doomed, revoke } = given()
  const first = await connect(token)
  const { tools } = await first.client.listTools()
  assert.deepEqual(tools.slice(0, 4).map((tool) => tool.name), ['execute', 'get_operation', 'cancel_operation', 'list_packages'])

  await Promise.all([answers(first), progress(first), reconnects(first, connect, token), cancels(first, api, token)])
  await strangers(first, connect, other, api)
  await refused(connect, doomed, revoke)
  await first.close()
}

async function answers({ call, client }) {
  const printed = await call('execute', { code: 'print(6*7)\n{"a": 1}' })
  assert.equal(printed.content.length, 1)
  assert.match(printed.content[0].text, /^42\n/)
  assert.equal(printed.structuredContent.status, 'ok')
  assert.deepEqual(printed.structuredContent.value, { a: 1 })
  assert.equal(printed.isError ?? false, false)

  const failed = await call('execute', { code: '1/0' })
  assert.equal(failed.isError, true)
  assert.match(failed.content[0].text, /ZeroDivisionError/)

  assert.equal(code(await call('execute', { code: 'print(1)', no_such_argument: 1 })), 'INVALID_ARGUMENT')
  const info = await client.readResource({ uri: 'env://info' })
  assert.match(info.contents[0].text, /^Execution Environment Info\nPython Version: 3/)
}

// The server tells of a call that lasts after a second, and then every ten.
async function progress({ call }) {
  const told = []
  const answer = await call('execute', { code: sleep(3), timeout_seconds: 60 }, { onprogress: (p) => told.push(p) })
  assert.equal(answer.structuredContent.status, 'ok')
  assert.match(told[0]?.message ?? "nothing was told", /^running for 1s as operation op_/)
}

async function reconnects({ call }, connect, token) {
  const running = await call('execute', { code: sleep(2) + '; print("done")', timeout_seconds: 60, wait_seconds: 0 })
  assert.equal(running.structuredContent.status, 'running')
  const again = await connect(token)
  const ended = await again.call('get_operation', { operation_id: running.structuredContent.operation_id, wait_seconds: 60 })
  assert.equal(ended.structuredContent.status, 'ok')
  assert.equal(ended.structuredContent.stdout, 'done\n')

  const slow = await again.call('execute', { code: sleep(60), timeout_seconds: 90, wait_seconds: 0 })
  const cancelled = await call('cancel_operation', { operation_id: slow.structuredContent.operation_id })
  assert.equal(cancelled.structuredContent.status, 'cancelled')
  await again.close()
}

// A call that the client gives up is cancelled, not left to run.
async function cancels({ call }, api, token) {
  const controller = new AbortController()
  const aborted = call('execute', { code: 'sleep 71', language: 'bash', timeout_seconds: 90, wait_seconds: 90 }, { signal: controller.signal })
  aborted.catch(() => {})
  await until('an operation in bash is there', async () => (await operations(api, token)).some((o) => o.language === 'bash'))
  controller.abort('the user gave up')
  await assert.rejects(aborted)
  await until('it is cancelled', async () => (await operations(api, token)).some((o) => o.language === 'bash' && o.status === 'cancelled'))
}

async function operations(api, token) {
  const answer = await fetch(api + '/operations', { headers: { Authorization: 'Bearer ' + token } })
  assert.equal(answer.status, 200)
  return (await answer.json()).operations
}

async function until(what, condition) {
  for (const end = Date.now() + 60_000; !(await condition()); await new Promise((r) => setTimeout(r, 50))) {
    assert.ok(Date.now() < end, 'it does not come about that ' + what)
  }
}

// Another principal's operations are not there.
async function strangers({ call }, connect, other, api) {
  const { operation_id } = (await call('execute', { code: '"mine"' })).structuredContent
  const stranger = await connect(other)
  assert.equal(code(await stranger.call('get_operation', { operation_id })), 'NOT_FOUND')
  assert.equal(code(await stranger.call('cancel_operation', { operation_id })), 'NOT_FOUND')
  assert.deepEqual(await operations(api, other), [])
  assert.equal((await call('get_operation', { operation_id })).structuredContent.value, 'mine')
  await stranger.close()
}

async function refused(connect, doomed, revoke) {
  const unauthorized = (error) => /401|unauthori[sz]ed|valid token is needed/i.test(`${error} ${error.code} ${error.cause}`)
  await assert.rejects(connect('gbx_wrong'), unauthorized)
  await assert.rejects(connect(undefined), unauthorized)

  const held = await connect(doomed)
  assert.equal((await held.call('execute', { code: '1' })).structuredContent.value, 1)
  execFileSync(revoke[0], revoke.slice(1), { stdio: 'pipe' })
  await assert.rejects(held.call('execute', { code: '1' }), unauthorized)
  await held.client.close()
  await assert.rejects(connect(doomed), unauthorized)
}
