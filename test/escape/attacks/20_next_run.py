# attack: leave something for the next run: a thread, a file, a variable, a changed module
# defence: a child runs one program and is killed; the next one is another process
import json, threading, time
check("no file of another run", not os.listdir(WORK) and not [f for f in os.listdir(TEMP) if not f.startswith(".")], os.listdir(TEMP))
check("no variable of another run", "LEFT_BEHIND" not in os.environ)
check("no module of another run was changed", not hasattr(json, "left_behind"))
check("no thread of another run", threading.active_count() == 1)
os.environ["LEFT_BEHIND"] = "1"
json.left_behind = True
open(f"{WORK}/left", "w").close()
open(f"{TEMP}/left", "w").close()
threading.Thread(target=lambda: time.sleep(600), daemon=True).start()
