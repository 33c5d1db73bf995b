"""Drivers on the machines of a Ray cluster.

      learner: fleet  ==== one call of Ray's under way for each node ====>  agent (one actor a node)
               node   <=== what its drivers have sent ====================  its driver processes, over pipes

A node is what Ray calls a machine of its cluster. All dealing and retrying is the pool's; Ray carries bytes and tells
who is gone.
"""
