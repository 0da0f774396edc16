"""Shortest paths with heapq, insertion with bisect."""
import bisect
import heapq

GRAPH = {
    "A": {"B": 7, "C": 9, "F": 14},
    "B": {"A": 7, "C": 10, "D": 15},
    "C": {"A": 9, "B": 10, "D": 11, "F": 2},
    "D": {"B": 15, "C": 11, "E": 6},
    "E": {"D": 6, "F": 9},
    "F": {"A": 14, "C": 2, "E": 9},
}


def dijkstra(graph, start):
    distance = {start: 0}
    previous = {}
    queue = [(0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if cost > distance.get(node, float("inf")):
            continue
        for neighbour, weight in graph[node].items():
            new = cost + weight
            if new < distance.get(neighbour, float("inf")):
                distance[neighbour], previous[neighbour] = new, node
                heapq.heappush(queue, (new, neighbour))
    return distance, previous


def path(previous, target):
    route = [target]
    while route[-1] in previous:
        route.append(previous[route[-1]])
    return "-".join(reversed(route))


distance, previous = dijkstra(GRAPH, "A")
for node in sorted(distance):
    print(node, distance[node], path(previous, node))
grades = [60, 70, 80, 90]
print(["FDCBA"[bisect.bisect(grades, score)] for score in (33, 60, 77, 89, 90, 100)])
print(heapq.nlargest(3, [5, 1, 9, 3, 7]), heapq.nsmallest(2, [5, 1, 9]))
