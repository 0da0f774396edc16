# Trick: a coroutine has a frame too.
# Refused: unsafe(frames)
async def work():
    return 1


task = work()
print(task.cr_frame.f_globals)
task.close()
